import ArgumentParser
import Envelope
import PushClient

struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a key in all its forms, and the topics on which it is written to; makes a new one.",
        discussion: "Of a key file only the public key is shown.")

    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Make the key file; one that is there is left as it is.")
    var new = false

    @Option(help: ArgumentHelp("Show this public key instead.", valueName: "key"), transform: HexArgument.key)
    var of: IdentityKey?

    func run() throws {
        let key = try of ?? key.identity(createsIfMissing: new).publicKey
        let description = KeyOutput(key)
        try output.print(description) {
            [
                "public key    \(description.publicKey)",
                "compressed    \(description.compressedPublicKey)",
                "hash          \(description.hash)",
                "topics",
                "  personal      \(description.topics.personal)   registrations to it, if it is a server's",
                "  partitioned   \(description.topics.partitioned)   requests to it, and all answers to it",
                "  query         \(description.topics.query)   queries for its devices",
                "  query, 0x     \(description.topics.prefixedQuery)   the same as the specification has it",
                "  contact code  \(description.topics.contactCode)   its advertisements",
            ]
        }
    }
}

private struct KeyOutput: Encodable {
    struct Topics: Encodable {
        let personal: String
        let partitioned: String
        let query: String
        let prefixedQuery: String
        let contactCode: String
    }

    let publicKey: String
    let compressedPublicKey: String
    let hash: String
    let topics: Topics

    init(_ key: IdentityKey) {
        publicKey = key.hex
        compressedPublicKey = key.compressedHex
        hash = key.hash.hex
        topics = Topics(
            personal: TopicName.personal(key.publicKey).topic.contentTopic,
            partitioned: TopicName.partitioned(key.publicKey).topic.contentTopic,
            query: TopicName.query(key.hash.bytes, .plain).topic.contentTopic,
            prefixedQuery: TopicName.query(key.hash.bytes, .prefixed).topic.contentTopic,
            contactCode: TopicName.contactCode(key.publicKey).topic.contentTopic)
    }
}
