"""The endpoint of a run with models: what it is asked for, serves and may cost.

Parts of the preflight (`helpers.preflight`) that do not look at this machine.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import openai

from helpers import profiles
from helpers.agents.ledger import PER_MILLION, Budget, Price
from helpers.agents.llm_settings import server_address, server_key
from helpers.agents.redact import Redactor
from helpers.agents.run_budget import spent
from helpers.planning import Calls

# What a notebook asks an endpoint for, by the name of its parameter.
MODELS = ("USER_MODEL", "POLICY_MODEL", "INFRA_MODEL", "JUDGE_MODEL", "JUDGE_MODELS")
Ask = Callable[[str, str], Sequence[str]]


@dataclass
class Report:
    """What was found. refused: why the run would fail, each with what to do, one a
    notebook and kind."""

    lines: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def refusals(self) -> list[str]:
        return list(self.refused.values())

    def refuse(self, about: str, text: str) -> None:
        self.refused.setdefault(about, text)

    def print(self) -> None:
        print("\n".join(["preflight", *(f"  {line}" for line in self.lines)]))
        for text in self.refusals:
            print(f"  REFUSED: {text}")
        sys.stdout.flush()


def names_of(profile: str, values: Mapping[str, Mapping]) -> dict[str, str]:
    """Model names that are asked for, with the parameter that names each."""
    names = {}
    for number, given in values.items():
        settings = profiles.SETTINGS.get(number, {}).get(profile)
        for parameter in set(MODELS) & set(given):
            value = given[parameter] or getattr(settings, parameter.lower(), "")
            for name in filter(None, str(value).replace(" ", "").split(",")):
                names.setdefault(name, f"{number}:{parameter}")
    return names


# -- the endpoint ----------------------------------------------------------------------


def served(
    report: Report, names: Mapping[str, str], ask: Ask, environment: Mapping[str, str]
) -> Sequence[str] | None:
    """The models that are served; None where nothing is asked for or known."""
    if not names:
        report.lines.append("endpoint: none needed, no role is played by a model")
        return None
    given = environment.get("OPENAI_BASE_URL")
    try:
        address = server_address(given)
        key = server_key(environment.get("OPENAI_API_KEY"), address)
    except ValueError as problem:
        advice = "" if given else "; or let --serve MODEL start one here"
        report.refuse("server", f"{problem}{advice}")
        return None
    shown = Redactor([key])
    report.lines.append(f"endpoint: {shown(address)}")
    try:
        return ask(address, key)
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        text = f"{shown(address)} refuses the key: see OPENAI_API_KEY"
        report.refuse("server", text)
    except openai.NotFoundError:
        report.lines.append("    it has no list of models: their names are not checked")
    except openai.APIConnectionError:
        report.refuse(
            "server",
            f"no connection to {shown(address)}: is the server running, and is "
            "OPENAI_BASE_URL right (it ends in /v1)?",
        )
    except openai.OpenAIError as problem:
        first = shown(str(problem)).splitlines()[0][:200]
        text = f"{shown(address)} does not list its models: {first}"
        report.refuse("server", text)
    return None


# -- the cost --------------------------------------------------------------------------


def cost(
    report: Report, calls: Sequence[Calls], prices: Mapping[str, Price],
    budget: Budget, ledger: Path, own: bool,
) -> None:  # fmt: skip
    """Calls, tokens and price with their arithmetic, against the budget."""
    usd, unknown = 0.0, []
    for one in calls:
        price = prices.get(one.model)
        if price is not None:
            cost = one.read * price.input_usd + one.written * price.output_usd
            usd += one.number * cost / PER_MILLION
        elif not own and one.model not in unknown:
            unknown.append(one.model)
        report.lines.append(
            f"{one.notebook}: {one.role} {one.model}: {one.how} = {one.number:,} calls "
            f"at most, x ({one.read:,} + {one.written}) tokens, estimate"
        )
    number, tokens = sum(c.number for c in calls), sum(c.tokens for c in calls)
    if calls:
        text = f"about USD {usd:,.2f}"
        if own:
            text = "no price: the server is this machine's own"
        elif unknown:
            text = f"price unknown of {', '.join(unknown)} (add it to data/prices.csv)"
            text += f"; the rest about USD {usd:,.2f}" if usd else ""
        report.lines.append(f"in all: {number:,} calls, {tokens:,} tokens; {text}")
    before = spent(ledger, dict(prices))
    used = before["prompt_tokens"] + before["completion_tokens"]
    if unknown and budget.max_usd is not None:
        report.refuse(
            "price",
            f"a budget in USD cannot be kept: no price of {', '.join(unknown)}; add it "
            "to data/prices.csv, or give --budget-tokens or --budget-calls",
        )
    for option, most, need, gone in (
        ("--budget-usd", budget.max_usd, usd, before["usd_known"]),
        ("--budget-tokens", budget.max_tokens, tokens, used),
        ("--budget-calls", budget.max_attempts, number, before["attempts"]),
    ):
        if most is None:
            continue
        report.lines.append(f"{option} {most:,g}, spent before: {gone:,g}")
        if need > most - gone:
            report.refuse(
                option,
                f"{option} {most:,g} is too small: the plan may need {need:,.0f}, "
                f"{max(0, most - gone):,g} are left. Raise it, run fewer notebooks "
                "(--only), or give --anyway and let the budget stop the run",
            )
    if calls and budget == Budget():
        report.lines.append("no budget: --budget-usd, -tokens or -calls stops a run")
