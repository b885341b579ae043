"""How near a run comes to the time that its endpoint's limit allows: `python -m benchmarks.evaluations`.

Eighty questions of two turns, four models, one judge, on an upstream that serves 32 at once and takes half a second for
each. Its answers hold no verdict, so that each judgment takes two requests. The ideal is requests * seconds / places.
Then how long results take to read, and many judgments to import (`benchmarks.evaluations_reading`, which can be run
alone). Leaves nothing behind.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request

PLACES, SECONDS, MODELS = 32, 0.5, 4


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TOURNEY_VAR": folder, "DJANGO_SETTINGS_MODULE": "arena_project.settings"}
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        upstream = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.limits_upstream", str(PLACES), str(SECONDS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert upstream.stdout is not None
            _measure(int(upstream.stdout.readline()))
        finally:
            upstream.kill()
    subprocess.run([sys.executable, "-m", "benchmarks.evaluations_reading"], check=True)


def _measure(port: int) -> None:
    import json

    from accounts.models import User
    from evaluations.models import QuestionSet
    from evaluations.services import questions_seed, run_create, run_do
    from providers.models import Endpoint, LanguageModel

    questions_seed()
    endpoint = Endpoint.objects.create(
        slug="bench", name="Bench", base_url=f"http://127.0.0.1:{port}/v1", max_streams=PLACES
    )
    models = [
        LanguageModel.objects.create(slug=f"m{n}", name=f"M{n}", upstream_id=f"m{n}", endpoint=endpoint)
        for n in range(MODELS + 1)
    ]
    run = run_create(
        owner=User.objects.create_superuser("bench"),
        name="bench",
        question_set=QuestionSet.objects.get(),
        models=models[:MODELS],
        judges=models[MODELS:],
    )
    began = time.monotonic()
    counts = run_do(run_id=run.pk, tell=lambda counts: None)
    took = time.monotonic() - began
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/counts") as answer:
        told = json.load(answer)
    served = len(told["served"])
    ideal = served * SECONDS / PLACES
    print(f"{counts.answers} answers, {counts.judgments} judgments, {served} requests, {len(told['refused'])} refused")
    print(f"{took:.1f} s, ideal {ideal:.1f} s: {ideal / took:.0%} of the ideal")


if __name__ == "__main__":
    main()
