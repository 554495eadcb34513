"""Kafka's own tools in one JVM a release, which stays for the next of them: a start of Java takes a second of processor
time, a tool a twentieth of that.

A tool that fails is run once more in a JVM of its own, which says why.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kreplica.errors import SandboxError
from kreplica.sandbox import cluster
from kreplica.sandbox.distribution.tools import ToolResult, run_tool
from kreplica.sandbox.processes import tool_command
from kreplica.sandbox.servers import formatting

RunTool = Callable[[Path, Path, str, list[str], float], ToolResult]


class ToolsJvm:
    """A JVM with the class path of a release, which ends with this process.

    Args:
        java: Its program.
        class_path: The argument file that a sandbox starts its tools with.
        logging: The option that names the logging of tools.
        folder: Of its own argument file.
    """

    def __init__(self, java: Path, class_path: Path, logging: str, folder: Path) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway

        arguments = folder / "class-path.args"
        arguments.write_text(_with_py4j(class_path.read_text(encoding="utf-8")), encoding="utf-8")
        command = tool_command(java, arguments, logging, ["py4j.GatewayServer", "--die-on-broken-pipe", "0"])
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self._process.stdout is not None
        port = int(self._process.stdout.readline())
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._lang = self._gateway.jvm.java.lang
        self._out, self._err = self._redirected("setOut"), self._redirected("setErr")
        self._exits = self._kept_exits()

    def _redirected(self, setter: str) -> Any:
        """The bytes of one of the JVM's streams; Scala's console keeps the stream that it found first."""
        kept = self._gateway.jvm.java.io.ByteArrayOutputStream()
        getattr(self._lang.System, setter)(self._gateway.jvm.java.io.PrintStream(kept, True, "UTF-8"))
        return kept

    def _kept_exits(self) -> Any:
        """The exit statuses with which tools would have ended the JVM (``common.utils.Exit``)."""
        invoke, found, named = self._lang.invoke, self._gateway.jvm.java.util.ArrayList(), self._lang.Class.forName
        text, of_list = named("java.lang.String"), named("java.util.ArrayList")
        added = invoke.MethodType.methodType(self._lang.Boolean.TYPE, named("java.lang.Object"))
        adding = invoke.MethodHandles.lookup().findVirtual(of_list, "add", added).bindTo(found)
        both = invoke.MethodHandles.dropArguments(adding, 1, self._array(self._lang.Class, [text]))
        procedure = named("org.apache.kafka.common.utils.Exit$Procedure")
        exits = invoke.MethodHandleProxies.asInterfaceInstance(procedure, both)
        self._gateway.jvm.org.apache.kafka.common.utils.Exit.setExitProcedure(exits)
        return found

    def run(self, name: str, words: list[str]) -> ToolResult | None:
        """Runs a tool; None where it fails."""
        from py4j.protocol import Py4JJavaError

        self._out.reset()
        self._err.reset()
        before = len(self._exits)
        arguments = self._array(self._lang.String, words)
        main = self._lang.Class.forName(name).getMethod("main", self._array(self._lang.Class, [arguments.getClass()]))
        try:
            main.invoke(None, self._array(self._lang.Object, [arguments]))
        except Py4JJavaError:
            return None
        if any(list(self._exits)[before:]):
            return None
        return ToolResult(self._out.toString("UTF-8"), self._err.toString("UTF-8"), 0)

    def _array(self, of: Any, values: list[Any]) -> Any:
        made = self._gateway.new_array(of, len(values))
        for number, value in enumerate(values):
            made[number] = value
        return made

    def end(self) -> None:
        self._gateway.shutdown()
        self._process.kill()
        self._process.communicate()


def _with_py4j(arguments: str) -> str:
    """A sandbox's argument file, its class path longer by py4j: the archive of classes is of how that begins."""
    import pyspark

    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    first, *others = arguments.splitlines()
    assert first.startswith('-cp "')
    return "\n".join([f'{first.removesuffix(chr(34))}:{jar}"', *others])


class Tools:
    """JVMs by the class path of their release."""

    def __init__(self, folder: Path, alone: RunTool) -> None:
        self._folder, self._alone = folder, alone
        self._running: dict[str, ToolsJvm] = {}
        self._one_at_a_time = threading.Lock()

    def run_tool(self, java: Path, class_path: Path, logging: str, program: list[str], timeout: float) -> ToolResult:
        """Runs a tool as ``kreplica.sandbox.distribution.tools.run_tool`` does."""
        key = f"{java} {class_path.read_text(encoding='utf-8')}"
        with self._one_at_a_time:
            if key not in self._running:
                own = Path(tempfile.mkdtemp(dir=self._folder))
                self._running[key] = ToolsJvm(java, class_path, logging, own)
            found = self._within(timeout, key, program)
        return found or self._alone(java, class_path, logging, program, timeout)

    def _within(self, timeout: float, key: str, program: list[str]) -> ToolResult | None:
        """The answer of a tool; None where it fails, or has ended the JVM."""
        from py4j.protocol import Py4JError

        name, *words = program
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self._running[key].run, name, words)
            try:
                return answer.result(timeout)
            except NotInTime as error:
                self._running.pop(key).end()
                raise SandboxError(f"{name} was not finished after {timeout:g} s") from error
            except Py4JError:
                self._running.pop(key).end()
                return None

    def end(self) -> None:
        while self._running:
            self._running.popitem()[1].end()


@contextmanager
def tools_in_one_jvm(folder: Path) -> Iterator[None]:
    """Has sandboxes of this process run Kafka's tools so within the block, the one that formats them among these."""
    tools = Tools(folder, run_tool)
    with ExitStack() as ending:
        ending.callback(tools.end)
        patch = ending.enter_context(pytest.MonkeyPatch.context())
        for asking in (cluster, formatting):
            patch.setattr(asking, "run_tool", tools.run_tool)
        yield
