import Glibc

enum HostName {
    /// The name of this host, or `pushserver` if it does not have a name. Characters that no setting may contain become hyphens.
    static var current: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return fallback }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let letters = name.prefix(64).map { isAllowed($0) ? $0 : "-" }
        return letters.isEmpty ? fallback : String(letters)
    }

    static func isAllowed(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
    }

    private static let fallback = "pushserver"
}
