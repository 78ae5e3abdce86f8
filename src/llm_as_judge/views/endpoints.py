"""The table of what an endpoint can do."""

from __future__ import annotations

from rich.table import Table

from llm_as_judge.llm.conformance import Conformance


def probe_table(report: Conformance) -> Table:
    words = {True: "yes", False: "no", None: "could not be found out"}
    rates = ", ".join(f"{n} at once {rate:.0f}" for n, rate in report.tokens_per_s.items())
    table = Table(title=f"{report.model} at {report.url}", box=None, title_justify="left")
    table.add_column("asked")
    table.add_column("seen")
    for asked, seen in (
        ("models served", ", ".join(report.served) or "it has no list"),
        ("readable replies", f"{report.readable or 'none'} of {report.asked}"),
        ("empty replies", f"{report.empty_fraction:.0%} of {report.asked}"),
        ("says the tokens used", words[report.usage]),
        ("equal seed, equal reply", words[report.seed]),
        ("other seed, other reply", words[report.seeds_differ]),
        ("follows a JSON schema", words[report.json_schema]),
        ("log-probs", words[report.logprobs] + report.logprobs_to_write),
        ("token ids", words[report.token_ids]),
        ("several draws a request", words[report.several_draws]),
        ("tokens a second", rates or "every try failed"),
        ("enough requests at once", str(report.best_concurrency)),
        ("failed tries", ", ".join(f"{k} {n}" for k, n in report.failures.items()) or "none"),
    ):
        table.add_row(asked, seen)
    return table
