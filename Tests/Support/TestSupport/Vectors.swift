import Bytes
import Foundation

/// The golden vectors in `Tests/Vectors`: observed output of the reference implementation.
package enum Vectors {
    /// Decodes one file.
    ///
    /// - Parameter name: The file's name without `.json`.
    package static func load<File: Decodable>(_ name: String, as type: File.Type = File.self) throws -> File {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Vectors")
        return try JSONDecoder().decode(type, from: Data(contentsOf: folder.appending(path: name + ".json")))
    }
}

/// Bytes that a vector file contains as hex: `let payload: HexBytes`.
package struct HexBytes: Decodable, Sendable, Equatable {
    package let bytes: [UInt8]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let bytes = Hex.decode(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not hex")
        }
        self.bytes = bytes
    }
}

/// Bytes that a vector file contains as standard base64.
package struct Base64Bytes: Decodable, Sendable, Equatable {
    package let bytes: [UInt8]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let data = Data(base64Encoded: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64")
        }
        bytes = [UInt8](data)
    }
}
