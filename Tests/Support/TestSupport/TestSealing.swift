import Bytes
package import ServerCrypto

/// The key that seals the databases of tests.
package let testSealingKeys = SealingKeys([(1, SecretBytes(FixedBytes(repeating: 1)))])

/// The content of a sealing key file with that key.
package let testSealingKeyFile = "1 \(String(repeating: "01", count: 32))\n"
