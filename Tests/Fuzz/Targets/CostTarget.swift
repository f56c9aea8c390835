#if DEBUG || FUZZER
    import CAllocationMeter
    import Envelope
    import GRDB
    import GRDBSQLite
    import PushProtocol
    import Bytes
    import StatusCrypto
    import Store
    import Synchronization
    import TestSupport
    import Wire

    @testable import Engine
    @testable import SQLiteStore

    extension FuzzTarget {
        /// The cost that untrusted clients can cause. The input is a sequence of registrations, queries and push requests, which the real
        /// rules decide over the real tables in memory. libFuzzer looks for the most expensive bytes. Each bound has a name.
        static let cost = FuzzTarget(name: "cost", vectors: [], samples: CostCourse.samples) { input throws(Violation) in
            let cost: Cost
            do {
                cost = try CostCourse(input).run()
            } catch {
                throw Violation(property: "the store in memory has no error: \(error)")
            }
            for bound in Cost.Bound.allCases {
                let limit = bound.limit(cost)
                try expect(bound.value(cost) <= limit, "\(bound): \(bound.value(cost)) for \(cost), and \(limit) at most")
            }
        }
    }

    /// The cost of a sequence of messages.
    struct Cost {
        var messageCount = 0
        /// The number of keys that registered something.
        var keyCount = 0
        /// The length of the messages in the network.
        var byteCount = 0
        var replyByteCount = 0
        /// The number of instructions that SQLite's virtual machine ran.
        var instructionCount = 0
        /// The memory allocated during writes, in total. Code that copies or decodes a list allocates memory for it.
        var allocatedByteCount = 0
        /// The part of ``allocatedByteCount`` that lookups took.
        var lookUpByteCount = 0
        var transactionCount = 0
        /// The number of push targets and queried keys.
        var entryCount = 0
        var storedByteCount = 0
        /// The length of the stored lists of one key.
        var listByteCount = 0

        enum Bound: CaseIterable {
            case replies
            case instructions
            case memory
            case lookUps
            case disk
            case lists

            func value(_ cost: Cost) -> Int {
                switch self {
                case .replies: cost.replyByteCount
                case .instructions: cost.instructionCount
                case .memory: cost.allocatedByteCount
                case .lookUps: cost.lookUpByteCount
                case .disk: cost.storedByteCount
                case .lists: cost.listByteCount
                }
            }

            func limit(_ cost: Cost) -> Int {
                // The memory of statements that SQLite compiles at first use.
                let statements = 4 << 20
                return switch self {
                // Each message may get a reply of this length free, and each key one full query response. Reports are shorter than the
                // requests that they report on.
                case .replies: 8_192 * cost.messageCount + (8 << 20) * cost.keyCount + cost.byteCount
                // An index search, or a row, takes a few hundred instructions. The shortest entry that needs them, a notification, has a
                // hundred bytes.
                case .instructions: 10_000 * cost.messageCount + 20 * cost.byteCount
                // The server writes lists twice: verbatim and as fingerprints. Replies are read, copied and written.
                case .memory: statements + 256 * 1_024 * cost.messageCount + 64 * cost.byteCount + 16 * cost.replyByteCount
                // Each transaction reads each list once, for any number of queries. An entry takes a few hundred bytes.
                case .lookUps:
                    statements + 4 * cost.listByteCount * cost.keyCount * cost.transactionCount + 64 * 1_024 * cost.messageCount
                        + 16 * 1_024 * cost.entryCount
                // The database holds the input and its fingerprints. A push's row takes a few hundred bytes, and three indexes contain it.
                case .disk: 64 * 1_024 + 4_096 * cost.messageCount + 1_024 * cost.entryCount + 2 * cost.byteCount
                case .lists: ProtocolLimits.maximumInstallationsPerKey * 2 * ProtocolLimits.maximumListByteCount
                }
            }
        }
    }

    /// A sequence of messages, read from a fuzzer's bytes.
    private struct CostCourse {
        /// The limit of messages in an input. Longer inputs have no other kinds of steps and are slower.
        private static let maximumMessageCount = 64
        private static let maximumByteCount = 1 << 20
        /// The length of signatures, keys and names around a message.
        private static let envelopeByteCount = 250

        /// Seeds. The first character is the length of bundle ids.
        static let samples: [String] = [
            // A registration with lists, queried repeatedly.
            "\u{0}" + phone(0, lists: 0x7F) + "\u{6}\u{2}\u{1}" + String(repeating: "\u{4}", count: 40) + "\u{6}",
            // Lists up to the limit of a key.
            "\u{0}" + (0..<3).map { phone($0, lists: 0x7F) }.joined() + "\u{6}",
            // Installations of one key: pushes to all of them at once, repeated, and one unregistration.
            "\u{3}" + (0..<8).map { phone($0, lists: 0) }.joined() + "\u{6}" + String(repeating: "\u{3}\u{1}\u{11}", count: 4)
                + "\u{6}\u{5}\u{1}\u{6}",
        ]

        private static func phone(_ number: UInt8, lists: UInt8) -> String {
            "\u{0}" + [1 | number << 2, lists].map { String(UnicodeScalar($0)) }.joined()
        }

        private enum Step {
            case message(OpenedEnvelope.Body, byteCount: Int)
            /// Repeats the message in another envelope.
            case again
            case commit
        }

        private var steps: [Step] = []
        private var keys: Set<UInt8> = []

        init(_ input: [UInt8]) {
            var rest = input[...]
            var byteCount = 0
            func next() -> Int { Int(rest.popFirst() ?? 0) }
            let topicByteCount = 1 + next() * 64
            while let choice = rest.popFirst(), steps.count < Self.maximumMessageCount, byteCount < Self.maximumByteCount {
                let (body, size): (OpenedEnvelope.Body, Int)
                switch choice % 8 {
                case 0, 1:
                    let who = next()
                    keys.insert(UInt8(who & 3))
                    (body, size) = Self.registration(
                        key: who & 3, installation: who >> 2 & 15, version: steps.count + 1, entryCount: 20 * next(),
                        isFirebase: choice % 8 == 1, topicByteCount: topicByteCount)
                case 2:
                    let count = 1 + next() % 128
                    let keys = (0..<count).map { Self.hash(of: $0 & 3) }
                    var query = PushNotificationQuery()
                    query.publicKeys = keys.map { $0.bytes }
                    (body, size) = (.query(QueryRules.keys(of: query)), query.encodedByteCount)
                case 3:
                    let (who, count) = (next(), next())
                    // The entries name one installation, or a key's installations one after another.
                    let stride = count & 1
                    var request = PushNotificationRequest()
                    request.messageID = [UInt8(truncatingIfNeeded: steps.count), 1]
                    request.requests = (0..<count).map { Self.notification(key: who & 3, installation: (who >> 2 + $0 * stride) & 15) }
                    (body, size) = (.push(request), request.encodedByteCount)
                case 4:
                    steps.append(.again)
                    continue
                case 5:
                    let who = next()
                    (body, size) = Self.registration(
                        key: who & 3, installation: who >> 2 & 15, version: steps.count + 1, entryCount: 0, isFirebase: false,
                        topicByteCount: 1, leaves: true)
                default:
                    steps.append(.commit)
                    continue
                }
                byteCount += size
                steps.append(.message(body, byteCount: size + Self.envelopeByteCount))
            }
            steps.append(.commit)
        }

        private static func hash(of key: Int) -> Digest64 { FixedBytes(repeating: UInt8(truncatingIfNeeded: key)) }
        private static func accessToken(_ key: Int, _ installation: Int) -> AccessToken {
            AccessToken(UniversallyUniqueID.text(FixedBytes(repeating: UInt8(truncatingIfNeeded: key << 4 | installation)), version: 4))
        }

        /// Entries of 64 bytes, as the reference client makes them. Their number is the most that a registration has here.
        private static let listEntries = (0..<2_560).map { number in
            [UInt8](repeating: 7, count: 62) + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
        }

        private static func registration(
            key: Int, installation: Int, version: Int, entryCount: Int, isFirebase: Bool, topicByteCount: Int, leaves: Bool = false
        ) -> (OpenedEnvelope.Body, Int) {
            var content = PushNotificationRegistration()
            content.installationID = "installation \(installation)"
            content.version = UInt64(version)
            content.unregister = leaves
            if !leaves {
                content.tokenType = isFirebase ? .firebase : .apn
                content.deviceToken = DeviceToken(String(repeating: "ab", count: 32))
                content.accessToken = accessToken(key, installation)
                content.enabled = true
                content.apnTopic = String(repeating: "t", count: topicByteCount)
                content.grant = [UInt8](repeating: 0, count: 65)
                // Half of the entries are contacts.
                content.allowedKeyList = Array(listEntries.prefix(entryCount / 2))
                content.blockedChatList = content.allowedKeyList
            }
            let encoded = content.encoded()
            let facts = RegistrationInput(content: .message(content), grantIsValid: true, plaintextDigest: SHA256.hash(encoded))
            let keyHash = hash(of: key)
            let registration = OpenedEnvelope.Registration(
                facts: facts, requestID: FixedBytes(), keyHash: keyHash, topics: QueryTopics(plain: UInt32(key), prefixed: UInt32(key)))
            return (.registration(registration), encoded.count)
        }

        private static func notification(key: Int, installation: Int) -> PushNotification {
            var notification = PushNotification()
            notification.publicKey = hash(of: key).bytes
            notification.installationID = "installation \(installation)"
            notification.accessToken = accessToken(key, installation)
            notification.type = .message
            notification.chatID = [1]
            return notification
        }

        // MARK: Running

        private static let decider = Decider(
            serverKey: FixedBytes(repeating: 2), registrationPolicy: RegistrationPolicy(), isDryRun: false)
        private static let secrets = testSealingKeys.map { DatabaseSecrets(secret: FixedBytes(repeating: 1), keys: $0) } ?? .locked
        /// The database of all inputs. Each sequence is rolled back.
        private static let database = Result { () throws -> DatabaseQueue in
            let database = try DatabaseQueue()
            _ = try database.write { try Schema(identity: FixedBytes(repeating: 2)).createTables($0) }
            return database
        }

        func run() throws -> Cost {
            guard let sender = FuzzKeys.identity?.publicKey else { return Cost() }
            var cost = Cost(keyCount: keys.count)
            try Self.database.get().writeWithoutTransaction { database in
                unsafe sqlite3_progress_handler(database.sqliteConnection, instructionStep, { _ in countInstructions() }, nil)
                try database.inTransaction(.immediate) {
                    let transaction = WriteTransaction(
                        database: database, secrets: Self.secrets, damagedRows: DamagedRows(logger: quietLogger),
                        outbox: OutboxChanges(OutboxMemory(maximumQueueCount: ProtocolLimits.maximumQueuedPushCount, namedBundleIDs: [])))
                    let pageCount = try database.count("PRAGMA page_count")
                    var batch: [OpenedEnvelope] = []
                    var allowances = Allowances(now: now)
                    var last: (OpenedEnvelope.Body, Int)?
                    for step in steps {
                        switch step {
                        case .message(let body, let byteCount): last = (body, byteCount)
                        case .again: break
                        case .commit:
                            try decide(batch, &allowances, transaction, &cost)
                            batch = []
                            continue
                        }
                        guard let (body, byteCount) = last else { continue }
                        cost.messageCount += 1
                        cost.entryCount += body.entryCount
                        cost.byteCount += byteCount
                        var hash = Digest32()
                        hash[0] = UInt8(truncatingIfNeeded: cost.messageCount)
                        let rows = try transaction.record(
                            [RecordableMessage(WakuEnvelope(pubsubTopic: "", message: .init()), hash: hash)], at: now)
                        let origin = OpenedEnvelope.Origin(
                            sender: sender, messageID: SHA256.hash([UInt8(truncatingIfNeeded: cost.messageCount)]), pubsubTopic: "",
                            receivedAt: now)
                        batch.append(OpenedEnvelope(id: rows.first.flatMap(\.self) ?? 0, content: .message(body, from: origin)))
                    }
                    cost.storedByteCount = 4_096 * (try database.count("PRAGMA page_count") - pageCount)
                    return .rollback
                }
            }
            return cost
        }

        private static let selectListByteCount = """
            SELECT coalesce(max(byte_count), 0) FROM (
                SELECT sum(\(ListColumn.byteCount("sealed_allowed_keys")) + \(ListColumn.byteCount("sealed_chat_lists"))) AS byte_count
                FROM registration_lists JOIN registration ON registration.id = registration_lists.registration GROUP BY key_hash)
            """

        private func decide(
            _ messages: [OpenedEnvelope], _ allowances: inout Allowances, _ transaction: WriteTransaction, _ cost: inout Cost
        ) throws {
            guard !messages.isEmpty else { return }
            instructionCount.store(0, ordering: .relaxed)
            allocation_meter_start()
            var lookups = Self.decider.lookups(about: messages)
            lookups.allowances = allowances
            let loaded = try LoadedState(transaction, answering: lookups, at: now)
            cost.lookUpByteCount += allocation_meter_total()
            cost.transactionCount += 1
            var batch = DecidedBatch(state: loaded.state)
            let outcomes = messages.map { Self.decider.decide($0, at: now, in: &batch) }
            _ = try transaction.apply(batch, loaded, at: now)
            cost.allocatedByteCount += allocation_meter_total()
            cost.instructionCount += instructionCount.load(ordering: .relaxed)
            for spending in outcomes.flatMap(\.spendings) { allowances.spend(spending) }
            cost.listByteCount = max(cost.listByteCount, try transaction.database.count(Self.selectListByteCount))
            cost.replyByteCount += outcomes.reduce(0) { $0 + ($1.reply?.payload.count ?? 0) }
        }
    }

    extension OpenedEnvelope.Body {
        fileprivate var entryCount: Int {
            switch self {
            case .registration: 0
            case .query(let keyHashes): keyHashes.count
            case .push(let request): request.requests.count
            }
        }
    }

    private let now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
    private let instructionStep: Int32 = 50
    private let instructionCount = Atomic<Int>(0)

    private func countInstructions() -> Int32 {
        instructionCount.add(Int(instructionStep), ordering: .relaxed)
        return 0
    }
#endif
