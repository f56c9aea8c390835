import FoundationEssentials

extension JSON {
    /// Decodes a peer's JSON with Foundation, once a reader has checked it: Foundation's decoder limits neither the number of values nor
    /// the memory that they take.
    ///
    /// - Throws: ``JSONError`` if the text is not JSON, is nested too deeply or has too many values. `DecodingError` if it does not fit the
    ///   type.
    package static func decode<Value: Decodable>(_ type: Value.Type = Value.self, from bytes: [UInt8]) throws -> Value {
        try JSONReader.read(bytes) { reader throws(JSONError) in try reader.skipValue() }
        return try JSONDecoder().decode(type, from: Data(bytes))
    }
}
