import FoundationEssentials
import TestSupport

/// Protobuf's JSON with the names of `Protos`: enumerations as numbers, 64-bit integers as strings, bytes as base64, defaults left out.
struct JSONFields: FieldSource, Decodable, Sendable {
    private var values: [String: JSONValue]

    /// The names that the test has not read. The message lacks these fields, or has other names for them.
    var unread: Set<String> { Set(values.keys) }

    init(from decoder: any Decoder) throws {
        values = try decoder.singleValueContainer().decode([String: JSONValue].self)
    }

    private init(_ values: [String: JSONValue]) {
        self.values = values
    }

    /// Replaces a message in the JSON that is opaque to us by bytes.
    mutating func replaceObject(_ name: String, with bytes: [UInt8]) {
        if case .object = values[name] { values[name] = .string(Data(bytes).base64EncodedString()) }
    }

    mutating func bool(_ name: String) throws -> Bool {
        switch values.removeValue(forKey: name) {
        case nil: false
        case .bool(let value): value
        default: throw Mismatch(name: name)
        }
    }

    mutating func int32(_ name: String) throws -> Int32 {
        try number(name) ?? 0
    }

    mutating func uint32(_ name: String) throws -> UInt32 {
        try number(name) ?? 0
    }

    mutating func uint64(_ name: String) throws -> UInt64 {
        try number(name) ?? 0
    }

    mutating func optionalInt64(_ name: String) throws -> Int64? {
        try number(name)
    }

    mutating func string(_ name: String) throws -> String {
        switch values.removeValue(forKey: name) {
        case nil: ""
        case .string(let value): value
        default: throw Mismatch(name: name)
        }
    }

    mutating func bytes(_ name: String) throws -> [UInt8] {
        try base64(string(name), name)
    }

    mutating func list(_ name: String) throws -> [[UInt8]] {
        try array(name).map {
            guard case .string(let text) = $0 else { throw Mismatch(name: name) }
            return try base64(text, name)
        }
    }

    mutating func messages<Message: FilledFromFields>(_ name: String) throws -> [Message] {
        try array(name).map {
            guard case .object(let values) = $0 else { throw Mismatch(name: name) }
            var fields = JSONFields(values)
            let message = try Message(fields: &fields)
            guard fields.unread.isEmpty else { throw Mismatch(name: name) }
            return message
        }
    }

    private mutating func number<Number: FixedWidthInteger>(_ name: String) throws -> Number? {
        switch values.removeValue(forKey: name) {
        case nil:
            return nil
        case .number(let value):
            return Number(exactly: value)
        case .string(let text):
            guard let value = Number(text) else { throw Mismatch(name: name) }
            return value
        default:
            throw Mismatch(name: name)
        }
    }

    private mutating func array(_ name: String) throws -> [JSONValue] {
        switch values.removeValue(forKey: name) {
        case nil: []
        case .array(let values): values
        default: throw Mismatch(name: name)
        }
    }

    private func base64(_ text: String, _ name: String) throws -> [UInt8] {
        guard let data = Data(base64Encoded: text) else { throw Mismatch(name: name) }
        return [UInt8](data)
    }

    struct Mismatch: Error {
        let name: String
    }
}
