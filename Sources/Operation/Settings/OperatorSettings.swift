import Bytes
import Foundation
package import ServerFiles

/// The settings of a server that an operator's command goes by, and where they are from.
package struct OperatorSettings: HoldsSecret, Sendable {
    package let source: SettingsSource
    package let paths: ServerPaths
    /// The file, and the names of the variables, in words.
    package let origin: String
    /// Whether they are a server's settings, and not only the defaults.
    package let areNamed: Bool
    private let environment: [String: String]

    /// Reads all settings.
    ///
    /// - Throws: `SettingsError` with all problems together.
    package func settings() throws(SettingsError) -> Settings { try Settings(source, environment: environment) }

    /// Finds the settings: in the named file, else in the one that the environment names, else in that of the service on this machine. A
    /// file that exists and cannot be read is an error, and no other is tried.
    ///
    /// - Parameters:
    ///   - file: The named configuration file.
    ///   - database: The named database. It is not the service's, as far as anybody knows.
    ///   - service: The service on this machine, or nil for a command that asks for its target.
    package init(
        file: String?, database: String? = nil, environment: [String: String], service: InstalledService?
    ) throws(SettingsError) {
        let named = file ?? environment[SettingsSource.configurationFileVariable]
        let isOfService = database == nil && (named == nil || named == service?.configurationFile)
        let installed = isOfService && service?.isInstalled == true ? service : nil
        let unit: [String: String]
        do throws(SettingsError) {
            unit = try installed?.environment() ?? [:]
            let all = unit.merging(environment) { $1 }
            self.environment = all
            source = try SettingsSource(file: file ?? installed?.configurationFile, environment: all)
            guard source.problems.isEmpty else { throw SettingsError(problems: source.problems) }
            var paths = ServerPaths(source, environment: all)
            if let database { paths.use(database: database) }
            self.paths = paths
        } catch {
            guard installed != nil else { throw error }
            let advice =
                (geteuid() == 0 ? "" : "run this as root, or ")
                + "name others with --config, or none with PUSHSERVER_CONFIG= before the command."
            throw SettingsError(problems: error.problems + ["These are the settings of the server on this machine: \(advice)"])
        }
        let ofUnit = unit.keys.filter { environment[$0] == nil }.sorted()
        let origins = source.origins.filter { !ofUnit.contains($0) } + (database.map { ["the database \($0)"] } ?? [])
        let variables = ofUnit.isEmpty ? "" : ", with \(ofUnit.joined(separator: ", ")) of \(InstalledService.unit)"
        origin = origins.joined(separator: ", ") + variables
        areNamed = source.origins != ["defaults"] || database != nil
    }
}
