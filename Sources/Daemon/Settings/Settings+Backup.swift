package import Age
package import Backup

/// The settings below `storage.backup`.
package struct BackupSettings: Sendable {
    package var folder: String
    package var schedule: BackupSchedule
    /// The keys for which backups are encrypted; none for plain backups.
    package var recipients: [AgeRecipient]
}

extension Settings {
    /// 1 min to 31 days: a backup of a large database takes some seconds, and the counts of days and weeks need backups of each.
    private static let backupIntervals = Duration.seconds(60)...Duration.seconds(31 * 86_400)

    /// Reads the section `storage.backup`; nil without a folder.
    static func backup(_ reader: inout SettingsReader) -> BackupSettings? {
        let folder = reader.optionalPath("storage.backup.folder")
        let schedule = BackupSchedule(
            interval: reader.duration("storage.backup.every", default: .seconds(86_400), in: backupIntervals),
            dayCount: reader.integer("storage.backup.keep.daily", default: 7, in: 1...1_000),
            weekCount: reader.integer("storage.backup.keep.weekly", default: 4, in: 0...1_000))
        let recipients = reader.list(
            "storage.backup.recipients", default: [], expected: "a list of public keys of age, like age1…", isSet: true,
            parse: { AgeRecipient($0) }, show: \.description)
        guard let folder else {
            if !recipients.isEmpty { reader.report("storage.backup.recipients: has no effect without storage.backup.folder") }
            return nil
        }
        return BackupSettings(folder: folder, schedule: schedule, recipients: recipients)
    }
}
