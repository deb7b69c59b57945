"""``kcache fuzz``: try an index function or a key function."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.text import Text

from kcache_conformance.fuzzing.json_report import write_fuzz_json
from kcache_conformance.fuzzing.options import DEFAULT_SECONDS, FuzzOptions
from kcache_conformance.fuzzing.report_text import ENGINE_TITLES, engine_line, print_report
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_conformance.fuzzing.session import fuzz as run_fuzz
from kcache_conformance.fuzzing.sources import Sources
from kcache_conformance.fuzzing.target_types import PHASE, report_of
from kcache_model.render import printable
from kcache_model.rules import Contract

from .console import is_whole, progress_bar, replay_line, stdout_console
from .exits import clear_errors, exit_code
from .options import budget_option, patience_option, seed_option, verbosity_options
from .outputs import Outputs, outputs_option

_RULES = click.Choice([rule.value for rule in Rule])


@click.command()
@click.argument("function")
@click.option(
    "--type",
    "--kind",
    "kind",
    type=click.Choice([name for kind in Kind for name in (kind.value, f"{kind.value}-function")]),
    default=Kind.INDEX.value,
    show_default=True,
    help="An index function returns a list of values; a key function returns one key.",
)
@click.option("--object-type", metavar="MODULE:CLASS", help="Objects of this dataclass, TypedDict or client model.")
@click.option(
    "--schema",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Objects of this JSON Schema, OpenAPI document or CustomResourceDefinition.",
)
@click.option("--schema-name", metavar="NAME", help="The schema in the document, for example io.k8s.api.core.v1.Pod.")
@click.option(
    "--samples",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Objects like these manifests (YAML or JSON, a file or a folder); may be repeated.",
)
@click.option("--strategy", metavar="MODULE:NAME", help="Objects of this Hypothesis strategy.")
@click.option(
    "--strict", is_flag=True, help="Also fail on warnings: objects that no API server returns, and minor rules."
)
@budget_option(f"{DEFAULT_SECONDS:g}s", "Time for all engines together.")
@seed_option("Seed of all random choices.")
@click.option("--fan-out", type=click.IntRange(min=1), help="The maximum number of values of an object.")
@click.option("--only", multiple=True, type=_RULES, metavar="RULE", help="Check only this rule; may be repeated.")
@click.option("--exclude", multiple=True, type=_RULES, metavar="RULE", help="Do not check this rule; may be repeated.")
@click.option("--crosshair/--no-crosshair", default=True, help="Use CrossHair if it is installed (the default).")
@click.option("--first", is_flag=True, help="Stop at the first violation.")
@patience_option
@verbosity_options
@outputs_option
def fuzz(
    function: str,
    kind: str,
    object_type: str | None,
    schema: Path | None,
    schema_name: str | None,
    samples: tuple[Path, ...],
    strategy: str | None,
    strict: bool,
    budget_seconds: float,
    seed: int,
    fan_out: int | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    crosshair: bool,
    first: bool,
    patience_seconds: float,
    outputs: Outputs,
) -> None:
    """Look for an object for which FUNCTION breaks the contract of an index function (or key function).

    FUNCTION is package.module:function or path/to/file.py:function. It runs in child processes. Specify its
    objects with --object-type, --schema, --samples or --strategy. By default, the annotation of its parameter
    determines the objects. Without an annotation they are Kubernetes objects, as dicts or with attributes, as the
    function reads them. The rules are explained in docs/index-functions.md.
    """
    if sum(map(bool, (object_type, schema, samples, strategy))) > 1:
        raise click.UsageError("use only one of --object-type, --schema, --samples and --strategy")
    if schema_name is not None and schema is None:
        raise click.UsageError("--schema-name needs --schema: it names a schema in that document")
    options = FuzzOptions(
        sources=Sources(
            object_type=object_type,
            json_schema=None if schema is None else str(schema),
            json_schema_name=schema_name,
            samples=tuple(map(str, samples)),
            strategy=strategy,
        ),
        budget_seconds=budget_seconds,
        seed=seed,
        contract=Contract.STRICT if strict else Contract.CLIENT_GO,
        phases=(PHASE,),
        kind=f"{kind.removesuffix('-function')}-function",
        most_values=fan_out,
        patience_seconds=patience_seconds,
        only=tuple(map(Rule, only)),
        exclude=tuple(map(Rule, exclude)),
        is_symbolic=crosshair,
        is_first_enough=first,
    )
    console = stdout_console()
    with clear_errors():
        outputs.touch()
        kind = kind.removesuffix("-function")
        settings = f"{kind} function, seed {seed}, budget {budget_seconds:g} s{', strict' if strict else ''}"
        title = f"kcache fuzz {printable(function)} ({settings})"
        console.print(Text(title), soft_wrap=True)
        with progress_bar(console) as bar:
            task = bar.add_task("starting", total=1.0, counts="")
            report = run_fuzz(
                function,
                Kind(kind),
                options,
                lambda engine: console.print(engine_line(engine), soft_wrap=True),
                lambda engine, did, fraction: bar.update(
                    task, description=ENGINE_TITLES[engine], completed=fraction, counts=did
                ),
            )
        print_report(console, report, is_whole=is_whole(console), command_of=replay_line)
        if "json" in outputs.files:
            outputs.write_file("json", lambda file: write_fuzz_json(file, report, seed))
        outputs.write(report_of(report, title, options), without={"json"})
    sys.exit(exit_code(report.status, is_interrupted=report.is_interrupted))
