"""A record that cannot be processed is written to another topic; the others go on."""

from kreplica.engine.setup import MILLISECOND, Application, OnFailure, TopicSetup, cluster
from kreplica.scenarios.probes import PROBES, with_result
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import MANUAL, OFFSETS, ORDERS, member, numbered, writer

_POSTING = Application(
    processing=10 * MILLISECOND,
    fails_on=("m3",),
    on_failure=OnFailure.DEAD_LETTER,
    dead_letters="orders-dead-0",
)

SCENARIO = Scenario(
    name="dead-letter",
    title="A dead-letter topic: what cannot be processed is kept, the rest goes on",
    why=(
        "m3 cannot be processed. The application writes it to orders-dead, waits until that is acknowledged, and only"
        " then commits behind it: m3 is safe, and m4 does not wait. Written with acks=all it survives the crash of a"
        " broker; a crash between writing and committing writes it once more."
    ),
    source="The text on the reliability of consumers: dead-letter queues",
    setup=cluster(
        3,
        ORDERS,
        TopicSetup("orders-dead", ((2, 3, 1),)),
        OFFSETS,
        clients=(writer(*numbered(8)), member("consumer-a", _POSTING)),
        settings=MANUAL,
        duration=40_000_000,
    ),
    plan=(),
    cases=(Case("0.9", {"never_done": ("m3",), "dead_letters": ("m3",), "done_twice": (), "lost": ()}),),
    probes={**PROBES, "dead_letters": with_result("dead letter")},
)
