import { exportChunks, exportName } from '#shared/codes/code-export.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { failField } from '#shared/platform/base/failure.ts'
import { exportFolder, headOf } from '#shared/platform/formats/file-store.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { limitedSearch } from '#shared/platform/request/search-limit.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ query }, context) {
    const { settings, now, newId, scope, caller, request } = context
    const includeDeleted = query.include_deleted === true
    if (includeDeleted && !settings['lists.includeDeletedRoles'].some((role) => role === caller?.role)) {
      throw failField('AUTHZ.filter.denied', 'include_deleted', {
        reason: 'role',
        allowed: settings['lists.includeDeletedRoles'],
        actual: 'string',
      })
    }
    const { inlineMaxBytes, linkSeconds } = settings['codes.export']
    const fileName = exportName(scope.tenant, now())
    const audit = { action: 'export', target: 'codes', tenant: scope.tenant }
    return limitedSearch(route.operation, context, async (beforeMore) => {
      const { whole, chunks } = await headOf(
        exportChunks(scope.tenant, includeDeleted, context, beforeMore),
        inlineMaxBytes,
      )
      if (whole) {
        const headers = { 'Content-Disposition': `attachment; filename="${fileName}"` }
        return ok(whole.toString('utf8'), { headers, audit })
      }
      // HEAD writes no file, so there is nothing to link to. To count the rest would take longer than GET takes.
      if (request.method === 'HEAD') return { status: 303 }
      const mediaType = 'text/csv'
      const key = `${exportFolder}${scope.tenant}/${newId()}.csv`
      const files = context.files()
      await files.write(key, chunks, mediaType)
      const location = await files.link(key, { fileName, mediaType, seconds: linkSeconds })
      return { status: 303, location, audit }
    })
  },
})

export const handler = httpFunction(endpoint, { files: s3Files })
