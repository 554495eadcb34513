"""The logs of the servers: their bounded configuration, and the reason of a failure read from them."""

from __future__ import annotations

import re
from pathlib import Path

from kreplica.sandbox.distribution.releases import release_named

LOG_FILE = "server.log"
CONSOLE_FILE = "console.log"
LOG_MIB = 16
TAIL_BYTES = 131072

_PATTERN = "[%d] %p %m (%c)%n"
# Kafka 4 logs through Log4j 2, older ones through reload4j. At most two files of LOG_MIB each.
_LOG4J2 = f"""status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {{folder}}/{LOG_FILE}
appender.file.filePattern = {{folder}}/{LOG_FILE}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = {_PATTERN}
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = {LOG_MIB}MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
_RELOAD4J = f"""log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.RollingFileAppender
log4j.appender.file.File={{folder}}/{LOG_FILE}
log4j.appender.file.MaxFileSize={LOG_MIB}MB
log4j.appender.file.MaxBackupIndex=1
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern={_PATTERN}
"""
_TOOL_LOG4J2 = f"""status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = {_PATTERN}
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
"""
_TOOL_RELOAD4J = f"""log4j.rootLogger=WARN, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern={_PATTERN}
"""

_ERROR = re.compile(r"^\[[^]]+\] (?:ERROR|FATAL) (.*?)(?: \([\w.$]+\))?$")
_EXCEPTION = re.compile(r"^(?:Caused by: |Exception in thread \S+ )?((?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b.*)$")


def write_server_logging(kafka_version: str, folder: Path) -> str:
    """Write the logging configuration of a server; return the JVM option that names it."""
    text = _LOG4J2 if release_named(kafka_version).logs_by_log4j2 else _RELOAD4J
    return _write(kafka_version, folder, "logging.properties", text.replace("{folder}", str(folder)))


def write_tool_logging(kafka_version: str, folder: Path) -> str:
    """Write the logging configuration of Kafka's tools: warnings to standard error. Return the JVM option."""
    text = _TOOL_LOG4J2 if release_named(kafka_version).logs_by_log4j2 else _TOOL_RELOAD4J
    return _write(kafka_version, folder, "tool-logging.properties", text)


def _write(kafka_version: str, folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    option = "log4j2.configurationFile" if release_named(kafka_version).logs_by_log4j2 else "log4j.configuration"
    return f"-D{option}={path.as_uri()}"


def reason_of_failure(folder: Path) -> str:
    """Return a server's own words on why it failed: the last exceptions it logged, else errors, else its last line."""
    lines = _tail(folder / LOG_FILE) + _tail(folder / CONSOLE_FILE)
    exceptions = [match[1].strip() for line in lines if (match := _EXCEPTION.match(line))]
    errors = [match[1].strip() for line in lines if (match := _ERROR.match(line))]
    words = _last_distinct(exceptions, 2) or _last_distinct(errors, 2) or [line for line in lines if line][-1:]
    return " <- ".join(words) or "it left no word in its log"


def _last_distinct(words: list[str], count: int) -> list[str]:
    return list(dict.fromkeys(reversed(words)))[:count][::-1]


def _tail(path: Path) -> list[str]:
    if not path.is_file():
        return []
    with path.open("rb") as handle:
        handle.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return handle.read().decode(errors="replace").splitlines()
