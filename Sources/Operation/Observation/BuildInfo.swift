import CBuildInfo

/// The version and commit of this build.
package enum BuildInfo {
    /// Semantic version.
    package static let version = "0.4.0"
    /// `unknown` unless `Packaging/release` built them.
    package static let commit = unsafe String(cString: build_commit())
    package static let swift = unsafe String(cString: build_swift())

    /// The text that `--version` prints.
    package static let description = "\(version) (commit \(commit), Swift \(swift))"
}
