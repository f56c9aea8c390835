import ArgumentParser
import Envelope
import PushClient

struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a key in all forms with its topics, or create one.",
        discussion: "The output contains no private key.")

    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Create the key file, unless it exists.")
    var new = false

    @Option(help: ArgumentHelp("A public key to show instead of that of the key file.", valueName: "key"), transform: HexArgument.key)
    var publicKey: PublicKey?

    func validate() throws {
        guard !new || publicKey == nil else {
            throw ValidationError("--new creates a key file, and --public-key shows another key; choose one.")
        }
    }

    func run() throws {
        let key = try publicKey ?? key.identity(createsIfMissing: new).publicKey
        let description = KeyOutput(key)
        try output.print(description) {
            [
                "public key    \(description.publicKey)",
                "compressed    \(description.compressedPublicKey)",
                "hash          \(description.hash)",
                "topics",
                "  personal      \(description.topics.personal)   registrations to it, if it is a server's",
                "  partitioned   \(description.topics.partitioned)   requests to it, and all replies to it",
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

    init(_ key: PublicKey) {
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
