/// A value in a notification's data.
enum Value {
    case missing
    case text(String)
    case list([String])
    case damaged

    /// Apple and Google deliver 4 KB at most. Twice as much leaves room for their own changes, and bounds the work.
    private static let maximumByteCount = 8_192
    /// More do not fit into a notification.
    static let maximumCount = 100

    var isMissing: Bool { if case .missing = self { true } else { false } }

    var text: String? {
        guard case .text(let text) = self, text.utf8.count <= Self.maximumByteCount else { return nil }
        return text
    }

    /// The bytes that hex digits with the prefix `0x` stand for, or nil for any other text.
    var bytes: [UInt8]? {
        guard let text, text.hasPrefix("0x") else { return nil }
        let digits = text.utf8.dropFirst(2)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = Self.value(ofDigit: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    /// The texts of a list. Google delivers it as JSON in a string, perhaps with spaces, whose texts are UUIDs without escapes.
    var texts: [String]? {
        switch self {
        case .list(let list): return list
        case .missing, .damaged: return nil
        case .text:
            guard let list = text.map({ Self.trimmed($0[...]) }), list.hasPrefix("["), list.hasSuffix("]"), list.count >= 2 else {
                return nil
            }
            let content = Self.trimmed(list.dropFirst().dropLast())
            let items = content.isEmpty ? [] : content.split(separator: ",", omittingEmptySubsequences: false).map(Self.trimmed)
            guard items.count <= Self.maximumCount else { return nil }
            var texts: [String] = []
            for item in items {
                guard item.count >= 2, item.hasPrefix("\""), item.hasSuffix("\""), !item.contains("\\") else { return nil }
                texts.append(String(item.dropFirst().dropLast()))
            }
            return texts
        }
    }

    /// The text without the spaces and line ends that JSON permits at both ends.
    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace = { (character: Character) in character == " " || character == "\t" || character.isNewline }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
