"""The tables of a snapshot as Spark sees them: declared, never inferred, so that no odd file changes the others."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kreplica.model.schema import Kind, TableSchema

_TYPES: dict[Kind, DataType] = {
    Kind.INT32: IntegerType(),
    Kind.INT64: LongType(),
    Kind.BOOL: BooleanType(),
    Kind.STRING: StringType(),
    Kind.INT_LIST: ArrayType(IntegerType(), containsNull=False),
}


def spark_schema(table: TableSchema) -> StructType:
    """The Spark schema of a table.

    Every field may be null here: what a file lacks is read as null, as the snapshot's own readers do.
    """
    return StructType([StructField(field.name, _TYPES[field.kind], nullable=True) for field in table.fields])
