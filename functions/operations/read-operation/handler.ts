import { viewOf } from '#shared/operations/operation.ts'
import { isEnded } from '#shared/operations/operation-states.ts'
import { readOperation } from '#shared/operations/operation-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { weakEntityTag } from '#shared/platform/request/parse-headers.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const { settings } = context
    const operation = await readOperation(context, params.operation_id ?? '')
    const key = operation.completion?.rejects_key
    const { linkSeconds: seconds } = settings['imports.result']
    const link = { fileName: `rejects_${operation.id}.csv`, mediaType: 'text/csv', seconds }
    const retryAfter = { 'Retry-After': String(settings['operations.retryAfter']) }
    const headers = isEnded(operation.state) ? {} : retryAfter
    if (key === undefined) return ok(viewOf(operation), { headers })
    // Each link has another signature, so the tag is weak. It covers everything else, and changes while an earlier link
    // is still valid.
    const period = Math.floor(context.now() / (seconds * 500))
    const etag = weakEntityTag([viewOf(operation), period])
    return ok(viewOf(operation, await context.files().link(key, link)), { etag, headers })
  },
})

export const handler = httpFunction(endpoint, { files: s3Files })
