import Store

/// The steps of re-sealing, in their order. The raw value is stored.
enum ResealingStep: Int64, CaseIterable, StoredInteger, SQLValue {
    case registrations = 1
    case lists = 2
    case deadRegistrations = 3
    case pushes = 4
    case replies = 5
    case proxyDevices = 6
    case originKeys = 7
    case originPushes = 8
    /// The free pages of the file, which may have old content, are taken.
    case takingFreePages = 12
    /// The free pages are overwritten and returned to the file system.
    case returningFreePages = 13
    /// The WAL is copied into the database and truncated.
    case truncatingLog = 14
    case done = 15

    static let first = registrations

    /// The table and its numeric key whose rows the step goes through, or nil if it counts otherwise.
    var sealedTable: (table: SealedTable<RowCursor>, key: String)? {
        switch self {
        case .registrations: (.registrations([.tokens]), "id")
        case .lists: (.registrations([.allowedKeys, .chatLists], in: "registration_lists"), "registration")
        case .deadRegistrations: (.deadRegistrations, "id")
        case .pushes: (.pushes, "id")
        case .replies: (.replies, "id")
        case .proxyDevices: (.proxyDevices, "id")
        case .originPushes: (.originPushes, "id")
        case .originKeys, .takingFreePages, .returningFreePages, .truncatingLog, .done: nil
        }
    }

    var next: ResealingStep { Self.allCases.first { $0.rawValue > rawValue } ?? .done }
}
