import { viewOf } from '#shared/operations/operation.ts'
import { isEnded } from '#shared/operations/operation-states.ts'
import { operationEtag, readOperation } from '#shared/operations/operation-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const { settings, table, scope } = context
    const operation = await readOperation(table, scope, params.operation_id ?? '', settings)
    const key = operation.completion?.rejects_key
    const { linkSeconds: seconds } = settings['imports.result']
    const link = { fileName: `rejects_${operation.id}.csv`, mediaType: 'text/csv', seconds }
    const view = viewOf(operation, key === undefined ? undefined : await context.files().link(key, link))
    const retryAfter = { 'Retry-After': String(settings['operations.retryAfter']) }
    return ok(view, { etag: operationEtag(view), headers: isEnded(operation.state) ? {} : retryAfter })
  },
})

export const handler = httpFunction(endpoint, { files: s3Files })
