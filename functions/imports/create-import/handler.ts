import { beginImport } from '#shared/imports/begin-import.ts'
import { s3Files } from '#shared/platform/files/s3-files.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ body, scope }, context) => beginImport(body, scope.tenant, context),
})

export const handler = lambda(endpoint, { files: s3Files })
