"""What the driver does around notebooks that ask models: checks, a server, a budget.

A run of rules passes through untouched.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from helpers import machine, preflight, profiles, serving
from helpers.agents.ledger import Budget, load_prices
from helpers.agents.llm import PRICES
from helpers.agents.run_budget import in_environment, spent
from helpers.endpoint import MODELS
from helpers.progress import shown

LEDGER, LOG = "spent.jsonl", "server.log"
SERVER_SHARE = 0.45  # of a single GPU, which training and its vLLM need too


def options(parser) -> None:
    """The options of the driver that this module is about."""
    add = parser.add_argument_group("runs with models (gpu, paper)").add_argument
    served = "start vllm serve with this model for user, judge and policy; stop it"
    add("--serve", default="", metavar="MODEL", help=served)
    add("--budget-usd", type=float, metavar="USD", help="stop when this is spent")
    add("--budget-tokens", type=int, metavar="N", help="stop after so many tokens")
    add("--budget-calls", type=int, metavar="N", help="stop after so many calls")
    add("--check", action="store_true", help="only say what would run and cost")
    add("--anyway", action="store_true", help="run although the checks refuse")


def budget(arguments) -> Budget:
    return Budget(arguments.budget_usd, arguments.budget_tokens, arguments.budget_calls)


def name_served(serve: str, values: Mapping[str, dict[str, Any]]) -> None:
    """Roles that no parameter names are played by the model that is served here."""
    for given in values.values() if serve else ():
        for parameter in set(MODELS) & set(given):
            given[parameter] = given[parameter] or serve


def check(arguments, values: Mapping[str, dict], runs_dir: Path) -> int | None:
    """Print the preflight of a run with models; an exit code where the run ends here.

    Args:
        values: parameters by number of the notebook.
    """
    profile = profiles.get(arguments.profile)
    if profile.backend != "llm":
        if arguments.check:
            print(f"profile {profile.name}: rules play every role, nothing is spent")
        return 0 if arguments.check else None
    report = preflight.look(
        profile.name, values, machine.probe(runs_dir), load_prices(PRICES),
        budget(arguments), runs_dir / LEDGER, serve=arguments.serve,
    )  # fmt: skip
    report.print()
    if report.refusals and not arguments.anyway:
        return 2
    return 0 if arguments.check else None


@contextmanager
def at_hand(arguments, runs_dir: Path) -> Iterator[None]:
    """The server and the budget of a run; what was spent is said at its end.

    Raises:
        serving.ServerFailed: the server did not come.
    """
    limits, ledger = budget(arguments), runs_dir / LEDGER
    with ExitStack() as stack:
        stack.enter_context(in_environment(limits, ledger))
        if arguments.serve:
            gpus = len(machine.probe(runs_dir).gpus)
            own, rest = (
                ([gpus - 1], list(range(gpus - 1))) if gpus > 1 else (None, None)
            )
            share = 0.9 if gpus > 1 else SERVER_SHARE
            server = serving.serve(
                arguments.serve, runs_dir / LOG, gpus=own, memory=share
            )
            address = stack.enter_context(server)
            stack.enter_context(serving.as_endpoint(address, rest))
        try:
            yield
        finally:
            if limits != Budget() and ledger.is_file():
                total = spent(ledger, load_prices(PRICES))
                print(
                    f"spent: {total['attempts']:,} calls, "
                    f"{total['prompt_tokens'] + total['completion_tokens']:,} tokens, "
                    f"USD {total['usd']}; all in {shown(ledger)}",
                    file=sys.stdout, flush=True,
                )  # fmt: skip
