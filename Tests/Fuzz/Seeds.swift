import Bytes
import Foundation
import StatusCrypto

/// The inputs with which the search begins: the golden vectors, and inputs that failed once.
enum Seeds {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    /// The limit of a seed's length. Longer seeds slow down each try and add no other kinds of bytes.
    private static let maximumByteCount = 8 << 10

    static func all(of target: FuzzTarget) throws -> [[UInt8]] {
        try vectors(target.vectors) + target.samples.map { Array($0.utf8) } + regressions(of: target.name)
    }

    /// Returns all texts of the vector files, and the decoded bytes of those that are hex.
    static func vectors(_ names: [String]) throws -> [[UInt8]] {
        var seeds: Set<[UInt8]> = [[]]
        for name in names {
            let file = folder.appending(path: "../Vectors/\(name).json")
            collect(try JSONSerialization.jsonObject(with: Data(contentsOf: file)), into: &seeds)
        }
        // Sets have no order, but each run must use the same one.
        return seeds.sorted { ($0.count, Hex.encode($0)) < ($1.count, Hex.encode($1)) }
    }

    /// Returns inputs that once broke a property: one file each in `Regressions/TARGET/`.
    private static func regressions(of target: String) throws -> [[UInt8]] {
        let folder = folder.appending(path: "Regressions/\(target)")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }

    private static func collect(_ value: Any, into seeds: inout Set<[UInt8]>) {
        switch value {
        case let list as [Any]: for element in list { collect(element, into: &seeds) }
        case let object as [String: Any]: for element in object.values { collect(element, into: &seeds) }
        case let text as String where text.utf8.count <= 2 * maximumByteCount:
            if let bytes = Hex.decode(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text) { seeds.insert(bytes) }
            if text.utf8.count <= maximumByteCount { seeds.insert([UInt8](text.utf8)) }
        default: break
        }
    }
}
