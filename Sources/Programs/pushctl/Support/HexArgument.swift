import ArgumentParser
import Bytes
import PushClient
import StatusCrypto

/// Arguments in hex, with or without `0x`.
enum HexArgument {
    /// A public key or its hash.
    @Sendable static func owner(_ text: String) throws -> Owner {
        do {
            return try Owner(hex: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    @Sendable static func key(_ text: String) throws -> PushClient.PublicKey {
        do {
            return try PushClient.PublicKey(hex: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// A public key, as the server knows it.
    @Sendable static func publicKey(_ text: String) throws -> StatusCrypto.PublicKey {
        let key = try bytes(text)
        guard let key = (try? StatusCrypto.PublicKey(uncompressed: key)) ?? (try? StatusCrypto.PublicKey(compressed: key)) else {
            throw ValidationError("Write the public key in hex: 65 bytes that begin with 04, or the 33 bytes of its compressed form.")
        }
        return key
    }

    /// Any bytes.
    @Sendable static func bytes(_ text: String) throws -> [UInt8] {
        guard let bytes = Hex.decode(text.hasPrefix("0x") ? text.dropFirst(2) : text[...]) else {
            throw ValidationError("Write it in hex, two digits a byte.")
        }
        return bytes
    }
}
