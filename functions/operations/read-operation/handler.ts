import { isEnded, operationEtag, viewOf } from '#shared/operations/operation.ts'
import { readOperation } from '#shared/operations/operation-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const { settings } = context
    const operation = await readOperation(context, params.operation_id ?? '')
    const key = operation.result?.rejects_key
    const { linkSeconds: seconds } = settings['imports.result']
    const link = { fileName: `rejects_${operation.id}.csv`, mediaType: 'text/csv', seconds }
    const retryAfter = { 'Retry-After': String(settings['operations.retryAfter']) }
    const headers = isEnded(operation.state) ? {} : retryAfter
    const etag = operationEtag(operation, settings, context.now())
    const rejectsUrl = key === undefined ? undefined : await context.files().link(key, link)
    return ok(viewOf(operation, { settings, rejectsUrl }), { etag, headers })
  },
})

export const handler = httpFunction(endpoint, { files: s3Files })
