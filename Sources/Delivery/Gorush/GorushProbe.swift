import HTTPClient

/// What a gorush says when it is asked once, before a server relies on it.
package struct GorushProbe: Sendable {
    /// Its URL, without what may be a password.
    package var name: String
    /// Why it takes no pushes; nil: it would.
    package var issue: String?
    /// What will lose pushes.
    package var warnings: [String]
}

extension DeliveryConfiguration {
    /// Asks each gorush of the routes how it is. No push is made.
    package func probe() async -> [GorushProbe] {
        var asked: [Endpoint] = []
        var probes: [GorushProbe] = []
        for route in allRoutes {
            let endpoint = endpoint(of: route)
            guard !asked.contains(where: { $0.isSameGorush(as: endpoint) }) else { continue }
            asked.append(endpoint)
            let http = HTTPClient(configuration: .init(certificateAuthorityFile: endpoint.certificateAuthorityFile))
            defer { http.shutdown() }
            let uses = allRoutes.filter { self.endpoint(of: $0).isSameGorush(as: endpoint) }
            let name = endpoint.publicURL
            switch await GorushClient(http: http, endpoint: endpoint, probeTimeout: probeTimeout).probe() {
            case .instance(let instance):
                let warnings = uses.flatMap { instance.warnings(for: .init(platform: $0.platform, environment: endpoint.environment)) }
                probes.append(.init(name: name, issue: instance.configurationFault, warnings: Set(warnings).sorted()))
            case .silent: probes.append(.init(name: name, issue: nil, warnings: []))
            case .unusable(let issue): probes.append(.init(name: name, issue: issue, warnings: []))
            case .unreachable: probes.append(.init(name: name, issue: "nobody answers", warnings: []))
            }
        }
        return probes
    }
}
