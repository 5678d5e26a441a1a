import { lambda } from '#shared/platform/http/lambda.ts'
import { readSecret } from '#shared/platform/secrets/secret.ts'
import { endpoint } from './endpoint.ts'

export { endpoint }
export const handler = lambda(endpoint, { secret: readSecret })
