"""Celery shells around what is computed outside of requests."""

from celery import shared_task

from evaluations import services


@shared_task(name="evaluation_summary")
def summary_refresh(run_id: str) -> None:
    services.summary_refresh(run_id=run_id)


@shared_task(name="evaluation_run_pair")
def run_pair_refresh(pair_id: int) -> None:
    services.run_pair_refresh(pair_id=pair_id)


@shared_task(name="evaluation_battle_report")
def battle_report_refresh() -> None:
    services.battle_report_refresh()
