package import MetricDeclarations

/// The metrics whose labels say which program and which server this is. Their value is 1.
package enum BuildMetrics {
    package static let declarations = [build, identity]

    private static let build = Metric(
        .gauge, "pushserver_build_info", configuredLabels: ["version", "commit", "swift"],
        help: "Version, commit and Swift of the program.")
    private static let identity = Metric(
        .gauge, "pushserver_identity_info", configuredLabels: ["public_key", "server"],
        help: "Public key of the server, and its name among the servers of one database.")

    package static func set(in registry: PrometheusRegistry, publicKey: String, serverName: String) {
        registry.value(of: build, BuildInfo.version, BuildInfo.commit, BuildInfo.swift).set(1.0)
        registry.value(of: identity, publicKey, serverName).set(1.0)
    }
}
