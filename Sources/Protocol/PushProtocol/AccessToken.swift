import Bytes

extension AccessToken {
    /// Whether the token is a UUID in a form that clients use, in upper or lower case: `8-4-4-4-12` hex digits, the 32 digits alone, or the
    /// first form after `urn:uuid:` or in braces (PROTOCOL.md §7 row 7).
    var isWellFormed: Bool {
        let characters = text.utf8
        switch characters.count {
        case 32: return characters.allSatisfy(Hex.isDigit)
        case 36: return UniversallyUniqueID.isText(characters[...])
        case 38:
            return characters.first == UInt8(ascii: "{") && characters.last == UInt8(ascii: "}")
                && UniversallyUniqueID.isText(characters.dropFirst().dropLast())
        case 45: return text.prefix(9).lowercased() == "urn:uuid:" && UniversallyUniqueID.isText(characters.dropFirst(9))
        default: return false
        }
    }
}
