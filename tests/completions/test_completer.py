"""Words that are offered at each place; the shells' own part is in test_shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.completions.completer import FILES, PATH_METAVARS, candidates
from commands.completions.tree import Command, command_tree
from commands.main import GROUPS, build_app


@pytest.fixture(scope="module")
def tree() -> Command:
    return command_tree(build_app())


def offered(tree: Command, *words: str, environ: dict[str, str] | None = None) -> list[str]:
    return [candidate.value for candidate in candidates(tree, words, environ or {}) if candidate is not FILES]


def offers_files(tree: Command, *words: str) -> bool:
    return FILES in candidates(tree, words, {})


def test_an_application_built_for_some_words_is_the_whole_one_as_far_as_they_go(tree: Command) -> None:
    """Only what is named is built: every start of the program and every Tab key would pay for the rest."""
    listed = command_tree(build_app([]))
    assert [(one.name, one.brief) for one in listed.commands] == [(one.name, one.brief) for one in tree.commands]
    for command in tree.commands:
        (alone,) = command_tree(build_app(["--version", command.name])).commands
        assert alone == command
        for below in command.commands:
            (group,) = command_tree(build_app([command.name, below.name])).commands
            assert group.find(below.name) == below


def test_every_group_of_commands_may_be_left_out() -> None:
    groups = {one.name for one in command_tree(build_app()).commands if one.commands}
    assert groups == {one.name for one in command_tree(build_app()).commands if one.name in GROUPS}
    assert not any(one.commands for one in command_tree(build_app([])).commands)


def test_the_first_word_is_a_command(tree: Command) -> None:
    assert offered(tree, "des") == ["describe"]
    assert set(offered(tree, "")) == {command.name for command in tree.commands}


def test_the_word_behind_a_group_is_one_of_its_commands(tree: Command) -> None:
    assert offered(tree, "rebalance", "l") == ["leaders"]
    assert offered(tree, "sandbox", "start-") == ["start-broker"]


def test_a_dash_offers_the_flags_of_that_command(tree: Command) -> None:
    assert offered(tree, "describe", "--under-r") == ["--under-replicated"]
    assert "--execute" in offered(tree, "rebalance", "leaders", "--")
    assert "--execute" not in offered(tree, "describe", "--")


@pytest.mark.parametrize(
    "words", [("describe", "-o", "js"), ("describe", "--output", "js"), ("describe", "--output", "=", "js")]
)
def test_a_choice_offers_its_values(tree: Command, words: tuple[str, ...]) -> None:
    assert offered(tree, *words) == ["json", "jsonl"]


def test_a_joined_value_keeps_its_flag(tree: Command) -> None:
    assert offered(tree, "describe", "--output=js") == ["--output=json", "--output=jsonl"]


def test_a_value_is_not_taken_for_a_command_or_a_flag(tree: Command) -> None:
    assert offered(tree, "describe", "--topic", "check", "--under-r") == ["--under-replicated"]
    assert offered(tree, "describe", "--topic", "or") == []


def test_scenarios_versions_and_settings_are_offered(tree: Command) -> None:
    assert offered(tree, "whatif", "run", "acks1") == ["acks1-leader-crash"]
    assert offered(tree, "whatif", "run", "--kafka-version", "0.1") == ["0.10", "0.11"]
    assert offered(tree, "whatif", "compare", "--set", "max.poll.r") == ["max.poll.records="]


def test_a_bare_flag_takes_no_value(tree: Command) -> None:
    assert offered(tree, "describe", "--under-replicated", "--mas") == ["--masked"]


def test_flags_end_at_two_dashes(tree: Command) -> None:
    assert offered(tree, "completions", "--", "z") == ["zsh"]
    assert offered(tree, "completions", "--", "--") == []


def test_files_are_offered_where_the_help_says_so(tree: Command) -> None:
    assert offers_files(tree, "describe", "--command-config", "a")
    assert offers_files(tree, "describe", "--dump", "")
    assert offered(tree, "describe", "--dump", "") == ["sample", "sample-healthy"]
    assert not offers_files(tree, "describe", "--topic", "")
    assert offered(tree, "whatif", "run", "--from", "sample-") == ["sample-healthy"]


def test_names_of_the_engine_are_offered(tree: Command) -> None:
    assert offered(tree, "whatif", "run", "--feature", "trans") == ["transaction.version="]
    assert offered(tree, "whatif", "run", "--set", "metadata.v") == []
    assert offered(tree, "whatif", "run", "quorum-") == ["quorum-vs-isr", "quorum-two-failures"]


def test_every_path_of_the_program_is_completed_by_files(tree: Command) -> None:
    # the names the help uses for values that are paths; a new one must be known to the completer
    named = {
        parameter.metavar
        for command in tree.walk()
        for parameter in (*command.options, *command.arguments)
        if any(word in parameter.metavar for word in ("FILE", "PATH", "DIR"))
    }
    of_brokers = {"BROKER:PATH", "ID[:DIR],…"}  # there, not here: nothing here could complete it
    assert named - of_brokers <= set(PATH_METAVARS)


def test_contexts_are_read_from_the_contexts_file(tree: Command, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[contexts.prod-eu]\nbootstrap_servers = "a:1"\n[contexts.test]\nbootstrap_servers = "b:1"\n')
    assert offered(tree, "describe", "--context", "pr", environ={"KREPLICA_CONFIG": str(file)}) == ["prod-eu"]
    file.write_text("not toml")
    assert offered(tree, "describe", "--context", "pr", environ={"KREPLICA_CONFIG": str(file)}) == []


def test_contexts_are_offered_to_the_commands_about_them(tree: Command, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[contexts.prod]\nbootstrap_servers = "a:1"\n[contexts.test]\nbootstrap_servers = "b:1"\n')
    for words in (["use"], ["show"], ["check", "prod"]):
        found = candidates(tree, ["config", *words, ""], {"KREPLICA_CONFIG": str(config)})
        assert [one.value for one in found] == ["prod", "test"], words


def test_rules_are_offered_by_name(tree: Command) -> None:
    assert offered(tree, "check", "--rule", "min-isr-") == ["min-isr-equals-rf", "min-isr-above-rf"]


def test_behind_a_tool_of_kafka_the_words_are_its_own(tree: Command) -> None:
    assert offers_files(tree, "sandbox", "tool", "kafka-topics", "--desc")
    assert offered(tree, "sandbox", "tool", "kafka-topics", "--desc") == []


def test_behind_a_group_that_is_a_command_stand_its_subcommands_and_its_own_values(tree: Command) -> None:
    assert offered(tree, "audit", "i") == ["ingest", "incidents", "incident"]
    assert offers_files(tree, "audit", "")
    assert "--counts" in offered(tree, "audit", "--")
    assert "--into" in offered(tree, "audit", "ingest", "--")
    assert "--counts" not in offered(tree, "audit", "ingest", "--")
    assert offers_files(tree, "audit", "ingest", "")
    assert offered(tree, "audit", "dumps", "i") == []
    assert "--into" not in offered(tree, "audit", "dumps", "ingest", "--")
