"""Records are handed to another thread while offsets are committed automatically, before processing is done."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import SECOND, Application
from kreplica.engine.trace import Kind
from kreplica.scenarios.probes import PROBES
from kreplica.scenarios.scenario import Between, Case, Scenario
from kreplica.scenarios.setups import group_cluster, member, numbered, writer

_HANDED_OFF = Application(processing=2 * SECOND, hand_off=True)

SCENARIO = Scenario(
    name="handed-off-auto-commit",
    title="Another thread processes, enable.auto.commit commits: a crash passes records over",
    why=(
        "enable.auto.commit commits in poll: the position behind what the poll before returned. It takes a new poll"
        " as the sign that those records are done. If they were only handed to another thread they are not; what that"
        " thread still had when the process crashed is passed over. Here each takes two seconds, and one comes every"
        " second."
    ),
    source="org.apache.kafka.clients.consumer.KafkaConsumer, Automatic Offset Committing",
    setup=group_cluster(
        writer(*numbered(20)),
        member("consumer-a", _HANDED_OFF),
        member("consumer-b", _HANDED_OFF),
        duration=140,
    ),
    plan=(Step(When(Kind.CONSUMED, "consumer-a", {"value": "m16"}), Crash("consumer-a")),),
    cases=(Case("0.9", {"never_done": Between(1, 16), "lost": ()}),),
    probes=PROBES,
)
