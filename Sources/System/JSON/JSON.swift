/// A JSON value to be written: the notifications that Delivery posts and the outbox stores.
package enum JSON: Sendable, Hashable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case list([JSON])
    case object([String: JSON])
}

extension JSON: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        self = .text(text)
    }
}

extension JSON {
    /// Appends the value in UTF-8, with the members of objects in alphabetical order.
    ///
    /// Foundation's encoder would take longer than all other work for a push except the elliptic curve.
    package func write(to bytes: inout [UInt8]) {
        switch self {
        case .text(let text): Self.write(text, to: &bytes)
        case .number(let number): bytes += "\(number)".utf8
        case .flag(let flag): bytes += (flag ? "true" : "false").utf8
        case .list(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a string literal with the required escapes only.
    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // Long texts are nearly always base64.
        guard needsEscapes(text) else {
            bytes += text.utf8
            return bytes.append(UInt8(ascii: "\""))
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\r"): bytes += "\\r".utf8
            case UInt8(ascii: "\t"): bytes += "\\t".utf8
            case 0..<0x20: bytes += ((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscapes(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in bytes.indices where bytes[index] < 0x20 || bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "\\") {
            return true
        }
        return false
    }

    /// The value in UTF-8.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }
}

extension [String: JSON] {
    /// Sets the member at the end of a path through objects, and creates the objects that are missing.
    package mutating func set(_ value: JSON, at path: String...) {
        set(value, at: path[...])
    }

    package mutating func set(_ value: JSON, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        // Removed first: a second reference would cause a copy.
        var inner: [String: JSON] = if case .object(let members)? = removeValue(forKey: name) { members } else { [:] }
        inner.set(value, at: path.dropFirst())
        self[name] = .object(inner)
    }

    /// The member at the end of a path through objects.
    package subscript(path: ArraySlice<String>) -> JSON? {
        guard let name = path.first, let member = self[name], path.count > 1 else { return path.first.flatMap { self[$0] } }
        guard case .object(let members) = member else { return nil }
        return members[path.dropFirst()]
    }
}
