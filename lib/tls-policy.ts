import { EndpointAccessMode, SecurityPolicy } from 'aws-cdk-lib/aws-apigateway'

/**
 * The TLS policy of the API and its custom domain. Without one, API Gateway accepts TLS 1.0 at the address of a
 * regional API. This policy accepts only TLS 1.2 and 1.3 with forward secrecy and post-quantum key exchange. In strict
 * mode the host name of the TLS handshake must match that of the request.
 */
export const tlsPolicy = {
  securityPolicy: SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
  endpointAccessMode: EndpointAccessMode.STRICT,
}
