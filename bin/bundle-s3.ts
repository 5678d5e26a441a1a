import { type Replacement, refusal } from './bundle-sdk-replacements.ts'

/** The parts of the S3 client for addresses and options that are rejected here. */
export const ofS3: Replacement[] = [
  {
    module: '@aws-sdk/client-s3/dist-es/schemas/schemas_0.js',
    why: `The very schemas, with their keys written out. As names of constants in brackets they could be anything to the
      bundler, which then keeps the schemas of all operations: three quarters of them, a fifth of the function.`,
    code: withKeysWrittenOut,
  },
  {
    module: '@aws-sdk/middleware-sdk-s3/dist-es/submodules/s3/index.js',
    why: `Sessions of directory buckets, redirects to a bucket's region and addresses in place of names serve what the
      endpoint above refuses, or an option that is refused here.`,
    code: `
      export { getCheckContentLengthHeaderPlugin } from './middleware-check-content-length-header/check-content-length-header'
      export { getAddExpectContinuePlugin } from './middleware-expect-continue/middleware-expect-continue'
      export { getLocationConstraintPlugin } from './middleware-location-constraint/middleware-location-constraint'
      export { getS3ExpiresMiddlewarePlugin } from './middleware-s3-expires/s3-expires-middleware'
      export { getSsecPlugin } from './middleware-ssec/middleware-ssec'
      export { getThrow200ExceptionsPlugin } from './middleware-throw-200-exceptions/throw-200-exceptions'
      export { S3RestXmlProtocol } from './protocol/S3RestXmlProtocol'
      const none = () => ({ applyToStack: () => {} })
      export const getRegionRedirectMiddlewarePlugin = none
      export const getS3ExpressHttpSigningPlugin = none
      export const getS3ExpressPlugin = none
      export const getValidateBucketNamePlugin = none
      const refused = ['bucketEndpoint', 'followRegionRedirects', 's3ExpressIdentityProvider']
      export const resolveS3Config = (config) => {
        const asked = refused.filter((name) => config[name])
        if (asked.length > 0) throw new Error(asked + ' of the S3 client is not in this bundle.')
        const expectContinueHeader = config.expectContinueHeader ?? 2_097_152
        return Object.assign(config, { expectContinueHeader })
      }`,
  },
  {
    module: '@aws-sdk/checksums/dist-es/submodules/flexible-checksums/index.js',
    why: `The signature of a request covers the SHA-256 of its body. Checksums beside it, and those of what is read, are
      refused, never left out unseen.`,
    code: `
      const refuse = () => {
        throw new Error('Checksums are not in this bundle: the S3 client has to have them WHEN_REQUIRED.')
      }
      export const resolveFlexibleChecksumsConfig = (config) => {
        for (const name of ['requestChecksumCalculation', 'responseChecksumValidation']) {
          if (config[name] !== 'WHEN_REQUIRED') refuse()
          config[name] = async () => 'WHEN_REQUIRED'
        }
        return config
      }
      const isAsked = (input, { requestChecksumRequired, requestAlgorithmMember, requestValidationModeMember }) =>
        requestChecksumRequired || input[requestAlgorithmMember?.name] || input[requestValidationModeMember]
      export const getFlexibleChecksumsPlugin = (_, operation) => ({
        applyToStack: (stack) =>
          stack.add((next) => async (args) => (isAsked(args.input, operation) ? refuse() : next(args)), {
            name: 'flexibleChecksumsMiddleware',
            step: 'initialize',
            override: true,
          }),
      })`,
  },
  {
    module: '@aws-sdk/checksums/dist-es/submodules/sha/sha1/Sha1Js.js',
    why: 'A fallback for a Node built without crypto, which Lambda has not.',
    code: `export class Sha1Js { ${refusal('SHA-1 in JavaScript')} }`,
  },
  {
    module: '@smithy/core/dist-es/submodules/checksum/md5/Md5Js.js',
    broughtBy: '@aws-sdk/client-s3',
    why: 'A fallback for a Node built without crypto, which Lambda has not.',
    code: `export class Md5Js { ${refusal('MD5 in JavaScript')} }`,
  },
]

function withKeysWrittenOut(schemas: string): string {
  const constants = new Map(
    Array.from(schemas.matchAll(/^const (\w+) = ("[^"\\]*");$/gm), ([, name, text]) => [name, text]),
  )
  const writtenOut = schemas.replace(/\[(\w+)\]:/g, (key, name) => {
    return constants.has(name) ? `${constants.get(name)}:` : key
  })
  if (writtenOut === schemas) throw new Error('The schemas of S3 are written otherwise than they were.')
  return writtenOut
}
