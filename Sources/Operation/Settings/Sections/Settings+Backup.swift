package import ServerFiles

/// The settings below `storage.backup`.
package struct BackupSettings: Sendable {
    package var folder: String
    package var schedule: BackupSchedule
    /// The keys for which backups are encrypted, or none for plain backups.
    package var recipients: [AgeRecipient]
}

extension Settings {
    /// Reads the section `storage.backup`, or nil without a folder.
    static func backup(_ reader: inout SettingsReader) -> BackupSettings? {
        let folder = reader.optional("storage.backup.folder", .path)
        let schedule = BackupSchedule(
            // 1 min to 31 days: backing up a large database takes seconds, and fewer backups would hardly fill the daily and weekly counts.
            interval: reader.value(
                "storage.backup.every", .duration(from: .seconds(60), to: .seconds(31 * 86_400)), default: .seconds(86_400)),
            dayCount: reader.value("storage.backup.keep.daily", .integer(1...1_000), default: 7),
            weekCount: reader.value("storage.backup.keep.weekly", .integer(0...1_000), default: 4))
        let recipients = reader.list(
            "storage.backup.recipients", of: SettingType("public keys of age, like age1…") { AgeRecipient($0) }, isSet: true)
        guard let folder else {
            if !recipients.isEmpty { reader.report("storage.backup.recipients", "has no effect without storage.backup.folder") }
            return nil
        }
        return BackupSettings(folder: folder, schedule: schedule, recipients: recipients)
    }

    /// Checks that the programs that a running server needs are installed, because its first backup may be due at night. Commands that only
    /// read the settings may run without them.
    package func checkPrograms() throws(SettingsError) {
        guard let backup, !backup.recipients.isEmpty else { return }
        do {
            _ = try AgeProgram()
        } catch {
            throw SettingsError(problems: ["storage.backup.recipients: \(error)"])
        }
    }
}
