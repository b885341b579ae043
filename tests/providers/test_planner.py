"""What fits on a GPU: counted from config.json, held against published counts and figures that can be done by hand."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from providers.engines.architecture import Architecture, UnknownArchitecture, architecture_read
from providers.engines.configs import NoConfig, architecture_of, known
from providers.engines.packing import SLEEPING, Gpu, pack
from providers.engines.planner import GIB, MOST_SHARE, Way, cache_bytes, fit, need_of, tokens_in
from providers.engines.plans import plan_of

# Parameters as the hub counts them in the models' own safetensors files.
PUBLISHED = {
    "gpt2-large": 774_030_080,
    "smollm2-135m": 134_515_008,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "llama-3.1-8b": 8_030_261_248,
    "mistral-7b": 7_248_023_552,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-7b-awq": 7_615_616_512,  # of the model before it was packed
    "smollm3-3b": 3_075_098_624,
    "granite-3.3-2b": 2_533_539_840,
    "phi-3-mini": 3_821_079_552,
    "gemma-2b": 2_506_172_416,
    "mixtral-8x7b": 46_702_792_704,
    "qwen3-30b-a3b": 30_532_122_624,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_the_hub_counts(name: str) -> None:
    assert architecture_of(name).parameters == pytest.approx(PUBLISHED[name], rel=2e-4)


def test_every_known_model_has_a_published_count() -> None:
    assert {name for name in known() if "/" not in name} == set(PUBLISHED)


def test_the_cache_of_grouped_queries_can_be_done_by_hand() -> None:
    # Llama 3.1 8B: 32 layers, keys and values, 8 heads of 128, 2 bytes: 128 KiB a token.
    assert cache_bytes(architecture_of("llama-3.1-8b"), Way(), 4096) == 4096 * 32 * 2 * 8 * 128 * 2


def test_the_latent_cache_is_small_and_is_not_cut() -> None:
    model = architecture_of("deepseek-v3")
    one = cache_bytes(model, Way(), 4096)
    assert one == 4096 * 61 * (512 + 64) * 2
    assert cache_bytes(model, Way(tensor_parallel=8), 4096) == one


def test_two_heads_over_four_gpus_are_held_twice() -> None:
    model = architecture_of("qwen2.5-3b")  # two heads of keys and values
    whole = cache_bytes(model, Way(), 4096)
    assert cache_bytes(model, Way(tensor_parallel=2), 4096) == whole // 2
    assert cache_bytes(model, Way(tensor_parallel=4), 4096) == whole // 2


def test_layers_with_a_window_keep_it_and_the_steps_under_way() -> None:
    """SlidingWindowSpec of vLLM: window - 1 + two steps of 2,048, in blocks of 16, and a block."""
    config = dict(known()["llama-3.2-1b"])
    kinds = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 4
    model = architecture_read(config | {"layer_types": kinds, "sliding_window": 1024})
    assert cache_bytes(model, Way(), 8192) == (4 * 8192 + 12 * (1024 + 4096 + 16)) * 1024 * 2
    assert cache_bytes(model, Way(batched_tokens=512), 8192) == (4 * 8192 + 12 * (1024 + 1024 + 16)) * 1024 * 2
    assert cache_bytes(model, Way(), 2048) == (4 * 2048 + 12 * (2048 + 16)) * 1024 * 2
    assert tokens_in(model, Way(), 2**30) == 2**30 // (16 * 1024 * 2)


@pytest.mark.parametrize("kind", ["chunked_attention", "linear_attention", "of_next_year"])
def test_layers_of_another_kind_count_as_full_attention(kind: str) -> None:
    config = dict(known()["llama-3.2-1b"])
    model = architecture_read(config | {"layer_types": [kind] * 12 + ["full_attention"] * 4, "sliding_window": 1024})
    assert cache_bytes(model, Way(), 8192) == cache_bytes(architecture_of("llama-3.2-1b"), Way(), 8192)


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        ({"num_hidden_layers": 10**12}, "num_hidden_layers of more than 10,000"),
        ({"hidden_size": 10**400}, "hidden_size of more than"),
        ({"vocab_size": 10**400}, "vocab_size of more than"),
        ({"intermediate_size": 10**400}, "no model has such sizes"),
        ({"head_dim": 10**400}, "no model has such sizes"),
        ({"head_dim": -64}, "no model has such sizes"),
        ({"num_key_value_heads": -8}, "no model has such sizes"),
        ({"layer_types": ["sliding_attention"], "sliding_window": -(10**400)}, "no model has such sizes"),
    ],
)
def test_a_file_made_to_fill_the_memory_is_refused(hostile: dict[str, object], words: str) -> None:
    with pytest.raises(UnknownArchitecture, match=words):
        architecture_read(dict(known()["llama-3.2-1b"]) | hostile)


def test_an_image_model_is_counted_with_its_eyes() -> None:
    text = known()["llama-3.2-1b"]
    eyes = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096}
    model = architecture_read({"model_type": "llava", "text_config": text, "vision_config": eyes})
    assert model.parameters == 1_235_814_400 + 24 * 12 * 1024 * 1024


@pytest.mark.parametrize(
    ("method", "bits"), [({"quant_method": "awq", "bits": 4}, 4.16), ({"quant_method": "fp8"}, 8),
                         ({"quant_method": "gptq", "bits": 8}, 8.13), ({"quant_method": "bitsandbytes"}, 4.5)]
)  # fmt: skip
def test_a_quantized_checkpoint_is_weighed_as_it_is_stored(method: dict[str, object], bits: float) -> None:
    plain = architecture_of("llama-3.1-8b")
    model = architecture_read(known()["llama-3.1-8b"] | {"quantization_config": method})
    assert need_of(model, Way()).weights == pytest.approx(plain.linear * bits / 8 + plain.other * 2, rel=2e-3)
    assert fit(model, 1).wanted.quantization == ""  # and is not quantized again


# The table of the fourth seed for a card of 6 GB. Its figures for Phi-3 cannot be: 3.8 billion parameters of two bytes
# are 7.6 GB; and Gemma's 2.5 billion leave no room for what vLLM takes beside them.
@pytest.mark.parametrize(
    ("name", "weights_gb", "sentence"),
    [
        ("gpt2-large", 1.5, "fits"),
        ("llama-3.2-1b", 2.5, "fits"),
        ("llama-3.2-3b", 6.4, "fits with 4-bit"),
        ("phi-3-mini", 7.6, "fits with 4-bit"),
        ("qwen2.5-3b", 6.2, "fits with 4-bit"),
        ("gemma-2b", 5.0, "fits with 4-bit"),
        ("llama-3.1-8b", 16.1, "does not fit: needs 7.0 GiB of 5.5"),
    ],
)
def test_the_table_for_a_card_of_6_gb(name: str, weights_gb: float, sentence: str) -> None:
    model = architecture_of(name)
    assert need_of(model, Way()).weights / 1e9 == pytest.approx(weights_gb, abs=0.06)
    assert fit(model, 6, Way(context=4096)).sentence == sentence


def test_a_shorter_context_is_offered_before_fewer_bits_where_none_was_asked_for() -> None:
    model = architecture_of("llama-3.1-8b")
    assert fit(model, 24).sentence == "fits with context 32,768"
    assert fit(model, 18.5).sentence == "fits with context 4,096"
    assert fit(model, 24, Way(context=131_072)).sentence == "fits with context 32,768"
    assert fit(model, 24, Way(context=65_536)).sentence == "fits with 4-bit"


models = st.sampled_from([name for name in PUBLISHED if name != "deepseek-v3"]).map(architecture_of)


@given(models, st.floats(2, 200), st.floats(0, 100), st.sampled_from([None, 2048, 8192, 100_000]))
def test_what_fits_fits_on_a_larger_gpu_too(model: Architecture, gib: float, more: float, context: int | None) -> None:
    small, large = fit(model, gib, Way(context=context)), fit(model, gib + more, Way(context=context))
    assert large.fits or not small.fits
    for verdict in (small, large):
        assert verdict.fits == (verdict.need.total <= verdict.memory)
        assert verdict.need == need_of(model, verdict.wanted)


@given(models, st.integers(1, 200_000), st.integers(1, 64))
def test_more_conversations_take_proportionally_more_cache(model: Architecture, context: int, many: int) -> None:
    one = need_of(model, Way(context=context)).cache
    assert need_of(model, Way(context=context, concurrency=many)).cache == many * one
    if not model.window_layers and context <= model.context:
        assert 0 <= tokens_in(model, Way(), one) - context < 16


def test_three_models_share_one_gpu_of_80_gib_and_take_turns_on_24() -> None:
    chosen = ("llama-3.1-8b", "mistral-7b", "qwen2.5-7b")
    wanted = {name: (architecture_of(name), Way(context=8192)) for name in chosen}
    together = pack(wanted, [Gpu(0, "A100", 80)])
    assert not together.takes_turns
    assert sum(one.share for one in together.placed) <= MOST_SHARE
    turns = pack(wanted, [Gpu(0, "A10G", 24)], host_memory_gib=64)
    assert sorted(one.turn for one in turns.placed) == [1, 2, 3]
    assert turns.sleep_level == 1
    assert pack(wanted, [Gpu(0, "A10G", 24)], host_memory_gib=16).sleep_level == 2


def test_a_model_that_is_too_large_for_one_gpu_is_cut_over_several() -> None:
    model = architecture_of("mixtral-8x7b")
    gpus = [Gpu(index, "A100", 80) for index in range(2)]
    small = architecture_of("mistral-7b")
    packing = pack({"large": (model, Way(context=8192)), "small": (small, Way(context=8192))}, gpus)
    assert {one.name: one.gpus for one in packing.placed} == {"large": (0, 1), "small": (0,)}
    assert not packing.takes_turns


def packed(name: str, sizes: list[float], wanted: Way) -> list[tuple[tuple[int, ...], str]]:
    gpus = [Gpu(index, "any", size) for index, size in enumerate(sizes)]
    packing = pack({name: (architecture_of(name), wanted)}, gpus)
    left_out = [((), verdict.sentence) for _name, verdict in packing.left_out]
    return [(one.gpus, one.verdict.sentence) for one in packing.placed] + left_out


def test_a_cut_is_judged_by_the_smallest_gpu_that_it_needs() -> None:
    assert packed("14b", [24, 8], Way(context=4096)) == [((0,), "fits with 4-bit")]
    assert packed("14b", [24, 8, 24], Way(context=4096)) == [((0, 2), "fits")]
    assert packed("14b", [24, 8], Way(context=4096, tensor_parallel=2)) == [((0, 1), "fits with 4-bit")]


def test_no_model_is_cut_over_more_gpus_than_there_are() -> None:
    wanted = Way(context=4096, tensor_parallel=4)
    words = "does not fit: it is to be cut over 4 GPUs, and there is 1"
    assert packed("llama-3.1-8b", [8], wanted) == [((), words)]
    plan = plan_of({"llama-3.1-8b": architecture_of("llama-3.1-8b")}, [Gpu(0, "any", 8)], wanted)
    assert plan.verdicts["llama-3.1-8b"][1].sentence == words


def test_no_model_is_cut_so_that_its_heads_are_not_dealt_out_evenly() -> None:
    # 28 heads, 4 of keys and values: over 4 GPUs, and not over 8, on which it would fit.
    assert packed("qwen2.5-7b", [7.5] * 4, Way(context=4096)) == [((0, 1, 2, 3), "fits")]
    assert packed("qwen2.5-7b", [4.0] * 8, Way(context=4096))[0] == ((0, 1, 2, 3), "fits with 4-bit")
    words = "does not fit: its 28 heads, 4 of keys, cannot be dealt out evenly to 8 GPUs"
    assert packed("qwen2.5-7b", [24] * 8, Way(tensor_parallel=8)) == [((), words)]
    cuts = [n for n in range(1, 9) if architecture_of("llama-3.2-3b").can_be_cut(n)]  # 24 heads, 8 of keys and values
    assert cuts == [1, 2, 4, 8]


@given(st.lists(models, min_size=1, max_size=6), st.lists(st.sampled_from([16, 24, 48, 80]), min_size=1, max_size=4))
def test_no_turn_holds_more_than_its_gpu(chosen: list[Architecture], sizes: list[int]) -> None:
    wanted = {str(number): (model, Way(context=4096)) for number, model in enumerate(chosen)}
    gpus = [Gpu(index, "any", size) for index, size in enumerate(sizes)]
    packing = pack(wanted, gpus)
    assert {one.name for one in packing.placed} | {name for name, _ in packing.left_out} == set(wanted)
    for gpu in gpus:
        here = [one for one in packing.placed if gpu.index in one.gpus]
        for turn in {one.turn for one in here}:
            together = [one for one in here if one.turn in (0, turn)]
            sleeping = SLEEPING * (len(here) - len(together))
            assert sum(one.verdict.need.total for one in together) + sleeping <= MOST_SHARE * gpu.memory_gib * GIB


@pytest.mark.parametrize("config", [{}, {"hidden_size": 64}, {"hidden_size": "64"}, {"model_type": "clip"}])
def test_what_is_no_language_model_is_refused_in_words(config: dict[str, object]) -> None:
    with pytest.raises(UnknownArchitecture, match="says no"):
        architecture_read(config)


def test_a_folder_is_read_and_a_broken_one_named(tmp_path: Path) -> None:
    folder = tmp_path / "meta-llama--Llama-3.2-1B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(known()["llama-3.2-1b"]))
    there = architecture_of(str(folder))
    assert there == architecture_of("meta-llama/Llama-3.2-1B", (tmp_path,)) == architecture_of("llama-3.2-1b")
    (folder / "config.json").write_text("{")
    with pytest.raises(UnknownArchitecture, match=r"config\.json cannot be read"):
        architecture_of(str(folder))
    with pytest.raises(NoConfig, match="models_download"):
        architecture_of("nobody/nothing")


@pytest.mark.parametrize("billions", [0.5, 1, 3, 8, 13, 34, 70])
def test_a_size_alone_gives_a_model_of_that_size(billions: float) -> None:
    model = Architecture.of_size(billions)
    assert model.parameters == int(billions * 1e9)
    built = 13 * model.hidden**2 * model.full_layers  # what its layers would hold, did we build them
    assert built == pytest.approx(model.linear, rel=0.5)


def test_the_command_plans_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = StringIO()
    call_command("engines", "plan", "--models", "llama-3.2-1b", "phi-3-mini", "--memory-limit", "6", stdout=out)
    text = out.getvalue()
    assert "fits with 4-bit" in text
    assert "Together, in 4 bits" in text
    for bad in (
        ["--models", "nobody/x"],
        ["--models", "7b", "--memory-limit", "0"],
        ["--models", "7b", "--context", "-1"],
    ):
        with pytest.raises(CommandError):
            call_command("engines", "plan", "--memory-limit", "6", *bad)


def test_the_three_models_of_the_deployment_page_share_a_card_of_24_gb() -> None:
    """An L4 has 22.5 GiB. The shares are those of docs/deploy.md and deploy/compose.vllm.yml, or a little less."""
    wanted = Way(context=8192, sequences=32)
    given = {"qwen2.5-7b-awq": 0.31, "smollm3-3b": 0.33, "granite-3.3-2b": 0.28}
    packing = pack({name: (architecture_of(name), wanted) for name in given}, [Gpu(0, "NVIDIA L4", 22.5)])
    assert not packing.takes_turns
    assert all(given[one.name] - 0.01 <= one.share <= given[one.name] for one in packing.placed)
    assert sum(given.values()) <= MOST_SHARE


def test_a_large_gpu_takes_larger_steps_as_vllm_has_it() -> None:
    model = architecture_of("llama-3.1-8b")
    small, large = (fit(model, gib, Way(context=4096)) for gib in (48, 80))
    assert (small.wanted.batched_tokens, small.wanted.sequences) == (2048, 256)
    assert (large.wanted.batched_tokens, large.wanted.sequences) == (8192, 1024)
    # Four times as many scores of 32 bits, twice; four times as many tokens in the widest layer.
    more = 2 * 768 * 128_256 * 4 + 6144 * (4 * 4096 + 2 * 14336) * 2
    assert large.need.overhead - small.need.overhead == more
    assert fit(model, 80, Way(context=4096, batched_tokens=2048, sequences=256)).need == small.need


def test_need_grows_with_what_is_asked() -> None:
    model = architecture_of("llama-3.1-8b")
    plain = Way(context=4096)
    assert need_of(model, replace(plain, eager=True)).overhead < need_of(model, plain).overhead
    assert need_of(model, replace(plain, kv_bytes=1)).cache * 2 == need_of(model, plain).cache
    with pytest.raises(ValueError, match="unknown quantization"):
        need_of(model, replace(plain, quantization="magic"))
