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

    /// The rows that the step goes through by their numbers, or nil if it goes on otherwise. SQLite reads the tables of a CROSS JOIN in
    /// their order.
    var rows: ResealedRows<RowCursor>? {
        switch self {
        case .registrations: ResealedRows(.registrations([.tokens]), by: "id")
        case .lists:
            ResealedRows(
                .registrations([.allowedKeys, .chatLists], in: "registration_lists"), by: "registration",
                from: "registration_lists CROSS JOIN registration ON registration.id = registration_lists.registration")
        case .deadRegistrations: ResealedRows(.deadRegistrations, by: "id")
        case .pushes: ResealedRows(.pushes, by: "id", from: "push INDEXED BY push_open", where: "finished_at IS NULL")
        case .replies: ResealedRows(.replies, by: "id")
        case .proxyDevices: ResealedRows(.proxyDevices, by: "id")
        case .originPushes:
            ResealedRows(
                .originPushes, by: "id",
                from: "nextcloud_origin_push CROSS JOIN nextcloud_origin_device AS device ON device.id = nextcloud_origin_push.device")
        case .originKeys, .takingFreePages, .returningFreePages, .truncatingLog, .done: nil
        }
    }

    var next: ResealingStep { Self.allCases.first { $0.rawValue > rawValue } ?? .done }
}
