package import JSON

/// A JSON object without its nested parts.
package struct JSONFields: Sendable {
    package enum Value: Sendable, Equatable {
        case string(String)
        /// The number's text, unparsed.
        case number(String)
        case bool(Bool)
        case null
        /// An object or an array.
        case nested
    }

    package private(set) var values: [String: Value] = [:]

    package init(_ values: [String: Value] = [:]) {
        self.values = values
    }

    /// - Throws: `JSONError` for invalid JSON and for a value other than an object.
    package init(reading reader: inout JSONReader) throws(JSONError) {
        var values: [String: Value] = [:]
        try reader.readObject { reader, key throws(JSONError) in values[key] = try Self.readValue(&reader) }
        self.values = values
    }

    /// - Returns: The fields, or nil unless the text is a single object.
    package init?(_ bytes: [UInt8]) {
        let fields = try? JSONReader.read(bytes) { reader throws(JSONError) in try JSONFields(reading: &reader) }
        guard let fields else { return nil }
        self = fields
    }

    package subscript(name: String) -> Value? { values[name] }

    /// Returns a field's text, or nil if the field is missing or has another type.
    package func string(_ name: String) -> String? {
        if case .string(let text) = values[name] { text } else { nil }
    }

    private static func readValue(_ reader: inout JSONReader) throws(JSONError) -> Value {
        switch reader.next {
        case .string: return .string(try reader.readString())
        case .number: return .number(try reader.readNumber())
        case .bool: return .bool(try reader.readBool())
        case .null where reader.readNull(): return .null
        default:
            try reader.skipValue()
            return .nested
        }
    }
}
