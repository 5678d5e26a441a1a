import { exportChunks, exportName } from '#shared/codes/code-export.ts'
import { failField } from '#shared/platform/errors/failure.ts'
import { exportFolder } from '#shared/platform/files/file-store.ts'
import { headOf } from '#shared/platform/files/head-of.ts'
import { s3Files } from '#shared/platform/files/s3-files.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { ok, type Reply } from '#shared/platform/http/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ scope, query, caller }, context): Promise<Reply> {
    const { settings, now, newId } = context
    const includeDeleted = query.include_deleted === 'true'
    if (includeDeleted && !settings['lists.includeDeletedRoles'].some((role) => role === caller?.role)) {
      throw failField('AUTHZ.filter.denied', 'include_deleted', { reason: 'role' })
    }
    const { inlineMaxBytes, linkSeconds } = settings['codes.export']
    const fileName = exportName(scope.tenant, now())
    const audit = { action: 'export', target: 'codes', tenant: scope.tenant }
    const { whole, chunks } = await headOf(
      exportChunks(scope.tenant, includeDeleted, context),
      inlineMaxBytes,
    )
    if (whole) {
      const headers = { 'Content-Disposition': `attachment; filename="${fileName}"` }
      return ok(whole.toString('utf8'), { headers, audit })
    }
    const mediaType = 'text/csv'
    const key = `${exportFolder}${scope.tenant}/${newId()}.csv`
    const files = context.files()
    await files.write(key, chunks, mediaType)
    const location = await files.link(key, { fileName, mediaType, seconds: linkSeconds })
    return { status: 303, location, audit }
  },
})

export const handler = lambda(endpoint, { files: s3Files })
