"""kreplica rebalance: bring leaders back to where they are preferred, and move replicas, by a plan."""

from __future__ import annotations

import typer

from commands.shared.help import examples


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(
        help="Move leadership back to preferred replicas, and replicas to other brokers.", no_args_is_help=True
    )
    app.add_typer(group, name="rebalance")
    if below == "":
        return
    from commands.rebalance import apply, leaders, rollback, status, throttle, throttles, verify
    from commands.rebalance.rehearse import command as rehearse
    from commands.rebalance.replicas import command as replicas

    group.command(
        "leaders",
        short_help="Elect preferred leaders, or write a plan to do so.",
        epilog=examples(
            "kreplica rebalance leaders --dump sample",
            "kreplica rebalance leaders --bootstrap-server kafka1:9092 --topic 'orders.*' --execute",
        ),
    )(leaders.leaders)
    group.command(
        "replicas",
        short_help="Plan moves of replicas, the fewest for a reason.",
        epilog=examples(
            "kreplica rebalance replicas --drain 3 --dump sample-healthy",
            "kreplica rebalance replicas --balance leaders --dump sample-healthy --reassignment-json moves.json",
        ),
    )(replicas.replicas)
    group.command(
        "verify",
        short_help="Check a plan of replicas by its certificate.",
        epilog=examples(
            "kreplica rebalance verify plan.json --dump dumps",
            "kreplica rebalance verify plan.json --bootstrap-server kafka1:9092",
        ),
    )(verify.verify)
    group.command(
        "rehearse",
        short_help="Play a plan of replicas while brokers fail.",
        epilog=examples(
            "kreplica rebalance rehearse plan.json --dump dumps --runs 200 --seed 1",
            "kreplica rebalance rehearse plan.json --bootstrap-server kafka1:9092 --set acks=1",
        ),
    )(rehearse.rehearse)
    group.command(
        "apply",
        short_help="Carry out a plan.",
        epilog=examples(
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092 --execute --batch 50 --pause 10s",
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092 --execute --throttle 50MB",
        ),
    )(apply.apply)
    group.command(
        "status",
        short_help="Show how far a plan has come.",
        epilog=examples(
            "kreplica rebalance status plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance status plan.json --context prod-eu -o json",
        ),
    )(status.status)
    group.command(
        "resume",
        short_help="Go on with a plan that was interrupted.",
        epilog=examples(
            "kreplica rebalance resume plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance resume plan.json --context prod-eu --execute",
        ),
    )(apply.resume)
    group.command(
        "cancel",
        short_help="Drop the rest of a plan.",
        epilog=examples(
            "kreplica rebalance cancel plan.json",
            "kreplica rebalance cancel plan.json --execute",
        ),
    )(status.cancel)
    group.command(
        "rollback",
        short_help="Bring back what a plan changed.",
        epilog=examples(
            "kreplica rebalance rollback plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance rollback plan.json --context prod-eu --execute --allow-reorder",
        ),
    )(rollback.rollback)
    group.command(
        "throttle",
        short_help="Change the rate of a plan that is being carried out.",
        epilog=examples(
            "kreplica rebalance throttle plan.json --rate 20MB",
            "kreplica rebalance throttle plan.json --rate 1500000 -o json",
        ),
    )(throttle.throttle)
    group.command(
        "throttles",
        short_help="Show throttles that moves have left behind.",
        epilog=examples(
            "kreplica rebalance throttles --bootstrap-server kafka1:9092",
            "kreplica rebalance throttles --bootstrap-server kafka1:9092 --broker 3 --topic orders --execute",
        ),
    )(throttles.throttles)
