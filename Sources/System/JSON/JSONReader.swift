import Bytes

/// A reader of JSON text, value by value and as strict as a node: Foundation's readers do not report a repeated key and round integers.
///
/// It converts no types. It is total: any bytes give values or a `JSONError`. What a peer sends costs memory in proportion to its bytes,
/// because depth and number of values are limited, and no string is longer than its text.
package struct JSONReader {
    /// The maximum depth: more than the 4 that a node's responses need, and little enough for any stack.
    package static let maximumDepth = 32

    /// The maximum number of elements and members. The largest texts that we read, such as a page of a node's store or gorush's response to
    /// a batch, have a tenth of that. A value of two bytes takes a hundred times as much in memory.
    package static let maximumValueCount = 100_000

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    /// The number of elements and members that may follow.
    private var valueBudget: Int

    package init(_ bytes: [UInt8], maximumValueCount: Int = Self.maximumValueCount) {
        self.bytes = bytes
        valueBudget = maximumValueCount
    }

    /// Reads a text that consists of a single value.
    package static func read<Value>(
        _ bytes: [UInt8], maximumValueCount: Int = Self.maximumValueCount, _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        var reader = JSONReader(bytes, maximumValueCount: maximumValueCount)
        let result = try value(&reader)
        reader.skipWhitespace()
        guard reader.position == bytes.count else { throw reader.error("unexpected text after the value") }
        return result
    }

    /// Returns an error at the current position, for a wrong value of the right type.
    package func error(_ reason: String) -> JSONError {
        let before = bytes[..<position]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        return JSONError(line: line, column: position - lineStart + 1, reason: reason)
    }

    /// Reads an object.
    ///
    /// - Parameter member: A closure that gets each key and must read its value.
    package mutating func readObject(
        _ member: (inout JSONReader, String) throws(JSONError) -> Void
    ) throws(JSONError) {
        var keys: Set<String> = []
        try readSequence(from: "{", to: "}", called: "an object") { reader throws(JSONError) in
            let key = try reader.readString()
            guard keys.insert(key).inserted else { throw reader.error("Multiple `\(PeerText(key))` fields found") }
            try reader.expect(":")
            try member(&reader, key)
        }
    }

    /// Reads an array.
    ///
    /// - Parameter element: A closure that must read an element at each call.
    package mutating func readArray(_ element: (inout JSONReader) throws(JSONError) -> Void) throws(JSONError) {
        try readSequence(from: "[", to: "]", called: "an array", element)
    }

    private mutating func readSequence(
        from open: Unicode.Scalar, to close: Unicode.Scalar, called name: String,
        _ element: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard consume(open) else { throw error("\(name) expected") }
        guard depth < Self.maximumDepth else { throw error("nested too deeply") }
        depth += 1
        defer { depth -= 1 }
        if consume(close) { return }
        repeat {
            guard valueBudget > 0 else { throw error("too many values") }
            valueBudget -= 1
            try element(&self)
        } while consume(",")
        try expect(close)
    }

    package mutating func readString() throws(JSONError) -> String {
        let content = try readStringBytes()
        guard let string = String(validating: content, as: UTF8.self) else { throw error("invalid UTF-8") }
        return string
    }

    /// Reads a string as bytes that need not be UTF-8, for long base64 that callers often discard.
    package mutating func readStringBytes() throws(JSONError) -> ArraySlice<UInt8> {
        guard consume("\"") else { throw error("a string expected") }
        let start = position
        var unescaped: [UInt8]?  // a copy only if there is an escape
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return unescaped.map { $0[...] } ?? bytes[start..<position - 1]
            case UInt8(ascii: "\\"):
                if unescaped == nil { unescaped = Array(bytes[start..<position]) }
                unescaped?.append(contentsOf: try readEscape())
            case 0..<0x20:
                throw error("a control character in a string")
            default:
                unescaped?.append(byte)
                position += 1
            }
        }
        throw error("a string without end")
    }

    private mutating func readEscape() throws(JSONError) -> [UInt8] {
        position += 1
        guard position < bytes.count else { throw error("a string without end") }
        defer { position += 1 }
        switch Unicode.Scalar(bytes[position]) {
        case "\"", "\\", "/": return [bytes[position]]
        case "b": return [0x08]
        case "f": return [0x0C]
        case "n": return [0x0A]
        case "r": return [0x0D]
        case "t": return [0x09]
        case "u": return try readUnicodeEscape()
        default: throw error("an unknown escape")
        }
    }

    /// Leaves the position at the last digit.
    private mutating func readUnicodeEscape() throws(JSONError) -> [UInt8] {
        var codeUnits = [try readCodeUnit()]
        if UTF16.isLeadSurrogate(codeUnits[0]), bytes[(position + 1)...].starts(with: Array("\\u".utf8)) {
            position += 2
            codeUnits.append(try readCodeUnit())
        }
        guard let text = String(validating: codeUnits, as: UTF16.self) else { throw error("half a surrogate pair") }
        return Array(text.utf8)
    }

    /// Reads the four digits after the `u` at the position, and leaves the position at the last digit.
    private mutating func readCodeUnit() throws(JSONError) -> UInt16 {
        let digits = bytes[(position + 1)...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let codeUnit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits expected") }
        position += 4
        return codeUnit
    }

    /// Reads a number without fraction and exponent, exactly.
    package mutating func readInteger() throws(JSONError) -> Int64 {
        let token = readToken()
        guard let first = token.first else { throw error("an integer expected") }
        let digits = first == UInt8(ascii: "-") ? token.dropFirst() : token
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw error("an integer expected")
        }
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { throw error("a leading zero") }
        guard let value = Int64(String(decoding: token, as: UTF8.self)) else { throw error("an integer out of range") }
        return value
    }

    package mutating func readBool() throws(JSONError) -> Bool {
        switch String(decoding: readToken(), as: UTF8.self) {
        case "true": return true
        case "false": return false
        default: throw error("true or false expected")
        }
    }

    /// Reads `null` if it is next.
    package mutating func readNull() -> Bool {
        let start = position
        if readToken().elementsEqual("null".utf8) { return true }
        position = start
        return false
    }

    /// Whether the next value is a string.
    package var isAtString: Bool {
        bytes[position...].first { !Self.isWhitespace($0) } == UInt8(ascii: "\"")
    }

    /// A value's kind, by its first byte.
    package enum Kind: Sendable {
        case object, array, string, number, bool, null
    }

    /// The next value's kind, or nil if none exists.
    package var next: Kind? {
        guard let first = bytes[position...].first(where: { !Self.isWhitespace($0) }) else { return nil }
        return switch Unicode.Scalar(first) {
        case "{": .object
        case "[": .array
        case "\"": .string
        case "-", "0"..."9": .number
        case "t", "f": .bool
        case "n": .null
        default: nil
        }
    }

    /// Reads a number of any kind as text.
    package mutating func readNumber() throws(JSONError) -> String {
        guard next == .number else { throw error("a number expected") }
        let token = String(decoding: readToken(), as: UTF8.self)
        // Swift's grammar accepts hexadecimal numbers and words too.
        guard Double(token) != nil, !token.utf8.contains(where: { "xXnpP".utf8.contains($0) }) else { throw error("a number expected") }
        return token
    }

    /// Skips a value of any type.
    package mutating func skipValue() throws(JSONError) {
        skipWhitespace()
        guard position < bytes.count else { throw error("a value expected") }
        switch Unicode.Scalar(bytes[position]) {
        case "{": try readObject { reader, _ throws(JSONError) in try reader.skipValue() }
        case "[": try readArray { reader throws(JSONError) in try reader.skipValue() }
        case "\"": _ = try readStringBytes()
        case "-", "0"..."9": _ = try readNumber()
        default:
            let token = String(decoding: readToken(), as: UTF8.self)
            guard ["true", "false", "null"].contains(token) else { throw error("a value expected") }
        }
    }

    /// Reads the next letters, digits and signs: a number or a word.
    private mutating func readToken() -> ArraySlice<UInt8> {
        skipWhitespace()
        let start = position
        while position < bytes.count, isTokenByte(bytes[position]) { position += 1 }
        return bytes[start..<position]
    }

    private func isTokenByte(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "0"..."9", "a"..."z", "A"..."Z", "+", "-", ".": true
        default: false
        }
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(JSONError) {
        guard consume(character) else { throw error("'\(character)' expected") }
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        skipWhitespace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace() {
        while position < bytes.count, Self.isWhitespace(bytes[position]) { position += 1 }
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

/// Malformed JSON, or JSON without the expected content.
package struct JSONError: Error, Equatable {
    /// The line, counted from 1. Columns count bytes, also from 1.
    package let line: Int
    package let column: Int
    /// The reason, without values from the text, because a value could be a message body.
    package let reason: String
}
