/// A piece of JSON, as it is posted to gorush.
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

extension JSON: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        case .list(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension [String: JSON] {
    /// Sets a member of an object within objects, which are made where they are missing.
    package mutating func set(_ value: JSON, at path: String...) {
        set(value, at: path[...])
    }

    package mutating func set(_ value: JSON, at path: ArraySlice<String>) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            self[name] = value
            return
        }
        var inner: [String: JSON] = if case .object(let members)? = self[name] { members } else { [:] }
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
