"""Reads our messages with Google's protobuf, and makes random messages for ours.

Usage: differential.py PROTOS INPUT OUTPUT SEED COUNT

INPUT has a line for each message: kind, space, hex. OUTPUT has a line for each of them: "refused", or "taken" and the hex of the
re-encoded message, with its fields in number order and without unknown fields. COUNT random messages of each kind follow, with a
line each: kind, hex, JSON.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

try:
    from google.protobuf import descriptor_pb2, json_format, message_factory
    from google.protobuf.message import DecodeError
except ImportError:
    sys.exit("google.protobuf is missing: apt-get install python3-protobuf")

PACKAGE = "pushserver."


def message_types(folder):
    """Returns the messages of the folder's .proto files by name, from a descriptor set of protoc."""
    if shutil.which("protoc") is None:
        sys.exit("protoc is missing: apt-get install protobuf-compiler")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".proto"))
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "descriptors")
        subprocess.run(["protoc", "--proto_path=" + folder, "--descriptor_set_out=" + path, *names], check=True)
        with open(path, "rb") as file:
            files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    types = message_factory.GetMessages(files)
    return {name[len(PACKAGE):]: types[name] for name in sorted(types) if "." not in name[len(PACKAGE):]}


def written_again(message):
    """Returns the bytes that Sources/Protocol/Wire keeps: known fields, and presence of the timestamp only."""
    message.DiscardUnknownFields()
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and field.name != "timestamp" and getattr(message, field.name) == field.default_value:
            message.ClearField(field.name)
    return message.SerializeToString(deterministic=True)


def answer(message_type, data):
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        try:
            message = message_type.FromString(data)
        except DecodeError:
            return "refused"
    # For the end of a group that was never opened, Python's binding only warns, and ignores the rest. C++ and Go reject it.
    if complaints:
        return "refused"
    return "taken " + written_again(message).hex()


def random_message(message_type, chance):
    message = message_type()
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.3:
            continue
        if field.label == field.LABEL_REPEATED:
            for _ in range(chance.randrange(4)):
                if field.message_type:
                    getattr(message, field.name).append(random_message(field.message_type._concrete_class, chance))
                else:
                    getattr(message, field.name).append(random_value(field, chance))
        else:
            setattr(message, field.name, random_value(field, chance))
    return message


def random_value(field, chance):
    edge = max(0, (1 << chance.randrange(65)) + chance.randrange(-1, 2))
    if field.type == field.TYPE_BOOL:
        return chance.random() < 0.5
    if field.type == field.TYPE_ENUM:
        return chance.choice([edge % 2**31, -(edge % 2**31) - 1, chance.randrange(5)])
    if field.type == field.TYPE_UINT32:
        return edge % 2**32
    if field.type == field.TYPE_UINT64:
        return edge % 2**64
    if field.type == field.TYPE_SINT64:
        return chance.choice([edge % 2**63, -(edge % 2**63) - 1])
    length = chance.choice([0, 1, chance.randrange(40), chance.randrange(126, 131)])
    if field.type == field.TYPE_BYTES:
        return bytes(chance.randrange(256) for _ in range(length))
    if field.type == field.TYPE_STRING:
        return "".join(chance.choice("a\0é世🙂\u07ff\uffff\U0010ffff") for _ in range(length))
    raise ValueError("no random value for field " + field.full_name)


def main(protos, input_path, output_path, seed, count):
    types = message_types(protos)
    chance = random.Random(int(seed))
    with open(input_path) as questions, open(output_path, "w") as answers:
        for line in questions:
            kind, data = line.rstrip("\n").split(" ")
            print(answer(types[kind], bytes.fromhex(data)), file=answers)
        for kind, message_type in types.items():
            for _ in range(int(count)):
                message = random_message(message_type, chance)
                data = written_again(message)
                json = json_format.MessageToJson(
                    message, preserving_proto_field_name=True, use_integers_for_enums=True, indent=None
                )
                print(kind, data.hex(), json, file=answers)


main(*sys.argv[1:])
