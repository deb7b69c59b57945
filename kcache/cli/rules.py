"""``kcache rules``: the rules for implementations."""

from __future__ import annotations

import click
from rich.text import Text

from kcache_conformance.report.rules_text import all_rules, rule_lines, rules_page
from kcache_model.rules import Contract
from kcache_model.suggestion import did_you_mean

from .console import stdout_console


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--markdown", is_flag=True, help="Print the page docs/rules.md.")
def rules(ids: tuple[str, ...], markdown: bool) -> None:
    """List the rules that findings name, or tell what there is to say of some."""
    if markdown:
        click.echo(rules_page(), nl=False)
        return
    console = stdout_console()
    known = all_rules()
    if ids:
        selected = [(title, of[rule]) for rule in ids for title, of in known.items() if rule in of]
        unknown = set(ids) - {one.id for _, one in selected}
        if unknown:
            suggestion = did_you_mean(min(unknown), (rule for of in known.values() for rule in of))
            raise click.UsageError(f"there is no rule {min(unknown)}; `kcache rules` lists them{suggestion}")
        for title, one in selected:
            console.print(Text(f"{one.id} ({title.lower()})", style="bold"))
            for line in rule_lines(one):
                console.print(f"  {line}", soft_wrap=True, markup=False)
        return
    for title, of in known.items():
        console.print(Text(title, style="bold"))
        for one in of.values():
            advice = " (strict)" if one.contract is Contract.STRICT else ""
            console.print(f"  {one.id:30} {one.promise}{advice}", soft_wrap=True, markup=False)
        console.print()
