/* Proof of work: finds the number that the server asks for. Plain SHA-256, since pages over HTTP have no Web Crypto. */
const SLICE_MS = 12; // of work, then the page may draw and listen

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
const K = Int32Array.from(primes(64), (p) => fraction(Math.cbrt(p)));
const START = Int32Array.from(primes(8), (p) => fraction(Math.sqrt(p)));
const W = new Int32Array(64);

const turned = (x, n) => (x >>> n) | (x << (32 - n));

/** SHA-256 of one padded block of 16 words, as 8 words. */
function sha256(block) {
  W.set(block);
  for (let i = 16; i < 64; i += 1) {
    const x = W[i - 15];
    const y = W[i - 2];
    const s0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const s1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    W[i] = (W[i - 16] + s0 + W[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = START;
  for (let i = 0; i < 64; i += 1) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + START[i]) | 0);
}

const words = (hex) => hex.match(/.{8}/g).map((part) => parseInt(part, 16) | 0);
const hex = (found) => found.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");

/** Tries numbers from 0: SHA-256 of salt, nonce and number must begin with the prefix. */
async function solved(task) {
  const { salt, nonce, keyPrefix } = task.parameters;
  const head = words(salt + nonce); // 8 words, then the number, the end mark, and the length in bits
  const block = Int32Array.from([...head, 0, 1 << 31, 0, 0, 0, 0, 0, 288]);
  const wanted = parseInt(keyPrefix.slice(0, 8), 16) | 0;
  let rest = performance.now() + SLICE_MS;
  for (let counter = 0; ; counter += 1) {
    block[8] = counter;
    const found = sha256(block);
    if (found[0] === wanted && hex(found).startsWith(keyPrefix)) return { counter, derivedKey: hex(found) };
    if (counter % 256 === 0 && performance.now() > rest) {
      await new Promise((go) => setTimeout(go));
      rest = performance.now() + SLICE_MS;
    }
  }
}

/** A proof from the task at `address`, as text; empty where there is no task to be had. */
export async function proofFrom(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return "";
  const challenge = await answer.json();
  return btoa(JSON.stringify({ challenge, solution: await solved(challenge) }));
}
