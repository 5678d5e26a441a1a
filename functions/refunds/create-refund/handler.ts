import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { endpoint } from './endpoint.ts'

export { endpoint }
export const handler = httpFunction(endpoint, { secret: readSecret })
