/** The types of openapi.json, written by `npm run generate`: change the routes, not this file. */

export interface paths {
    "/v1/orders": {
        /**
         * List orders
         * @description Returns one page of the orders of a tenant, newest first by default. Follow next_cursor with the same filters: no order is repeated or skipped, and orders placed after the first page was read are not included. An API key needs the scope `orders:read`.
         */
        get: operations["listOrders"];
        /**
         * Place an order
         * @description Places an order in the caller’s tenant. Repeating a request with the same Idempotency-Key and body returns the first response and places nothing. An API key needs the scope `orders:write`.
         */
        post: operations["createOrder"];
    };
    "/v1/orders/{id}": {
        /**
         * Read an order
         * @description Returns one order with its entity tag. An order of another tenant gets the same response as one that does not exist. An API key needs the scope `orders:read`.
         */
        get: operations["readOrder"];
    };
    "/v1/refunds": {
        /**
         * Refund a charge
         * @description Refunds a charge, or a part of it. Requests with the same Idempotency-Key create one refund, one payout and one ledger entry, even after failures. If the provider rejects the refund, every retry returns the same error, which names the refund in details.refund_id. While the provider is unavailable, the refund stays pending, and a retry continues it. Until the deployment has a key of the provider, refunds get 503 with details.dependency `payments`, and nothing is stored. Location is the path of the refund, where a later outcome can be read. An API key needs the scope `refunds:write`.
         */
        post: operations["createRefund"];
    };
    "/v1/refunds/{id}": {
        /**
         * Read a refund
         * @description Returns one refund with its entity tag, which changes with its status. Poll a pending refund with If-None-Match. A refund of another tenant gets the same response as one that does not exist. An API key needs the scope `refunds:read`.
         */
        get: operations["readRefund"];
    };
    "/v1/webhooks/events": {
        /**
         * Receive an event
         * @description Receives an event of another service. The signature covers the exact bytes of the body. The event is stored before the response and handled afterwards. One of a type and version that the service handles is refused if its data does not have the shape that asyncapi.json describes. A repeated event gets the same response and changes nothing.
         */
        post: operations["receiveEvent"];
    };
    "/v1/webhooks/stripe": {
        /**
         * Receive an event of Stripe
         * @description Receives an event of Stripe about a refund in a connected account. The signature covers the exact bytes of the body. The event is stored before the response and handled afterwards. A repeated event gets the same response and changes nothing. Events of other types, of other accounts or of another mode have no effect. This operation is an addition to the contract.
         */
        post: operations["receiveStripeEvent"];
    };
    "/codes": {
        /**
         * List discount codes
         * @description Returns one page of the codes of a tenant, newest first by default, or sorted by their text. Soft-deleted codes are included only if the request asks for them and the role may see them. An API key needs the scope `codes:read`.
         */
        get: operations["listCodes"];
        /**
         * Create a discount code
         * @description Creates a code in the caller’s tenant. The code is trimmed and stored in upper case, and is unique in its tenant; the name is trimmed and NFC-normalized, and its length counts Unicode code points. An API key needs the scope `codes:write`.
         */
        post: operations["createCode"];
    };
    "/codes/{id}": {
        /**
         * Read a discount code
         * @description Returns one code with its entity tag. A code of another tenant gets the same response as one that does not exist. An API key needs the scope `codes:read`.
         */
        get: operations["readCode"];
        /**
         * Replace the fields of a discount code
         * @description Takes a code as it was read, with another name or expiry, which are both required. Other fields may be sent as they are; another value of one that cannot be written is refused. An expiry that has passed may stay. Otherwise like PATCH. An API key needs the scope `codes:write`.
         */
        put: operations["replaceCode"];
        /**
         * Soft-delete a discount code; delete a discount code permanently
         * @description Soft-deletes a code: it disappears from lists and can be restored. Deleting it again changes nothing and returns the same response. An API key needs the scope `codes:write`. Delete a discount code permanently: Applies to force=true. Only the audit record remains, and the text of the code can be used again. Only the role Admin may use it. The header X-Audit-Log-Reason must state the reason for the audit. API keys are not accepted.
         */
        delete: operations["deleteCode"];
        /**
         * Update a discount code
         * @description Changes the name or the expiry of a code. If-Match carries the entity tag that the caller has read. Of several updates with the same tag, only the first succeeds. An API key needs the scope `codes:write`.
         */
        patch: operations["updateCode"];
    };
    "/codes/{id}:restore": {
        /**
         * Restore a discount code
         * @description Restores a soft-deleted code. An API key needs the scope `codes:write`.
         */
        post: operations["restoreCode"];
    };
    "/codes/{id}:share": {
        /**
         * Share a discount code
         * @description Writes an audit record of a share. An Editor may share within the tenant, an Admin with any tenant. Sharing grants no permissions. An API key needs the scope `codes:write`.
         */
        post: operations["shareCode"];
    };
    "/codes:export": {
        /**
         * Export discount codes as CSV
         * @description Returns the codes of a tenant as a CSV file, oldest first. If the file is too large for a response, the response redirects to a short-lived link to it. Cells that a spreadsheet would run as formulas are prefixed with an apostrophe; an import removes it. The file is text/csv, also for a request that accepts only application/json. An API key needs the scope `codes:read`.
         */
        get: operations["exportCodes"];
    };
    "/codes:import": {
        /**
         * Import discount codes from CSV
         * @description Creates a code for each row of a CSV file with a header and returns one result per row. A row that fails does not affect other rows. Exported files can be imported: a code keeps its state, a soft-deleted one is rejected, and the other additional columns are ignored. After a failure, a retry with the same Idempotency-Key continues with the remaining rows. An API key needs the scope `codes:write`.
         */
        post: operations["importCodes"];
    };
    "/codes:bulkUpdate": {
        /**
         * Update many discount codes
         * @description Updates each code separately, like PATCH /codes/{id}, and returns one result per code, with the entity tag that if_match takes next. The result of a code that cannot be updated has the id that the request names, if it has at most 64 characters. After a failure, a retry with the same Idempotency-Key continues with the remaining codes. An API key needs the scope `codes:write`.
         */
        post: operations["bulkUpdateCodes"];
    };
    "/discount/verify": {
        /**
         * Verify a discount code
         * @description Returns whether a code applies, and its discount in minor units. If a header names a cart, the code is applied to that cart once, even if it is verified repeatedly, and its discount follows the amount of the cart; the settings limit the total discount of a cart. Without a cart, only the code is checked: `applied` says whether it is valid, the amount is 0, and nothing is applied. An unknown, expired or deleted code gets the same response as any other code that does not apply. An API key needs the scope `discounts:verify`.
         */
        post: operations["verifyDiscount"];
    };
    "/otp/request": {
        /**
         * Request a one-time code
         * @description Sends a code to an e-mail address. The code is valid for five minutes. A new request from the same address on the network sends a new code, which replaces it. A request from another one sends the same code again. Every e-mail address gets the same response.
         */
        post: operations["requestOtp"];
    };
    "/otp/verify": {
        /**
         * Verify a one-time code
         * @description Starts a session if the code is valid, and sets the session cookie and the CSRF cookie. Blanks and hyphens in the code are ignored. A code works once; a replay sets the cookies again for five minutes. A wrong, used, expired or superseded code, too many attempts, and an address without a code get the same response.
         */
        post: operations["verifyOtp"];
    };
    "/login": {
        /**
         * Log in with a password
         * @description Returns the tokens of a user. A wrong password, an unknown e-mail address and an account that is disabled, locked or needs a new password get the same response. A second factor or a new password is entered at the identity provider. An Idempotency-Key is ignored, because tokens are not stored for a replay. Too many logins from one address on the network get a CAPTCHA: 405 with the header x-amzn-waf-action: captcha, without the error envelope.
         */
        post: operations["signIn"];
    };
    "/password/reset": {
        /**
         * Request a password reset
         * @description Sends a mail with a code that lets a user set a new password at the identity provider. Every e-mail address gets the same response; whether a user has it is checked only afterwards.
         */
        post: operations["resetPassword"];
    };
    "/imports": {
        /**
         * Import customers
         * @description Starts the import of a CSV file of customers with a header. The body is the file, or its https URL. The response contains the id of the operation to poll. An invalid row is rejected and does not affect other rows. A file in the body that was imported or is being imported is not imported again: the response contains the first operation and the header Idempotency-Status: replayed. A file_url always gets a new operation; if its file was imported before, the operation ends with the result of that import. A file whose import failed, was canceled or is being canceled is imported again. A tenant that exceeds its limit of operations in progress gets 429 with Retry-After. An API key needs the scope `imports:write`.
         */
        post: operations["createImport"];
    };
    "/operations/{operation_id}": {
        /**
         * Read an operation
         * @description Returns the progress of an operation. An ended import has a result with its counts, its first rejected rows and a link to all of them, or the error that ended it. Retry-After states when to poll again. An API key needs the scope `operations:read`.
         */
        get: operations["readOperation"];
    };
    "/operations/{operation_id}:cancel": {
        /**
         * Cancel an operation
         * @description Stops an operation after its work in progress. The operation ends as canceled, with the counts of its completed work. Canceling an ended operation, or canceling twice, changes nothing and succeeds, whatever If-Match says. An API key needs the scope `imports:write`.
         */
        post: operations["cancelOperation"];
    };
    "/health": {
        /**
         * Check whether the service is up
         * @description Returns 200 when the service is up, whatever query, Accept or X-Request-Timeout a monitor sends.
         */
        get: operations["readHealth"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        BulkResult: {
            items: components["schemas"]["RowResult"][];
            counts: components["schemas"]["RowCounts"];
        };
        BulkUpdate: {
            items: components["schemas"]["DiscountCodeUpdate"][];
        };
        Credentials: {
            /** Format: email */
            email: string;
            password: string;
        };
        Discount: {
            /** @description Whether the cart has the discount. Without a cart: whether the code is valid. */
            applied: boolean;
            /** @description The discount on the cart in minor units. Without a cart: 0. */
            amount: number;
        };
        DiscountCode: {
            id: string;
            code: string;
            type: string;
            name: string;
            /** Format: date-time */
            expiry_at: string;
            created_by: string;
            tenant_id: string;
            soft_deleted: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description Known values: draft, active, archived, soft_deleted. Later versions may add others. */
            state: string;
        };
        DiscountCodeChanges: {
            /** @description It is trimmed and put into NFC before its characters are counted. U+0080 to U+009F, U+2028 and U+2029 are rejected, too. */
            name?: string;
            /** Format: date-time */
            expiry_at?: string;
        };
        DiscountCodeList: {
            data: components["schemas"]["DiscountCode"][];
            page_size: number;
            next_cursor: string | null;
            prev_cursor: string | null;
            count: number | null;
            /** @description Known values: exact, approximate. Later versions may add others. */
            count_strategy?: string;
            sort: string;
        };
        DiscountCodeReplacement: {
            id?: string;
            code?: string;
            type?: string;
            /** @description It is trimmed and put into NFC before its characters are counted. U+0080 to U+009F, U+2028 and U+2029 are rejected, too. */
            name: string;
            /** Format: date-time */
            expiry_at: string;
            created_by?: string;
            tenant_id?: string;
            soft_deleted?: boolean;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            /** @enum {string} */
            state?: "draft" | "active" | "archived" | "soft_deleted";
        };
        DiscountCodeRequest: {
            code: string;
            /** @enum {string} */
            type: "percent-10" | "percent-25" | "fixed-500";
            /** @description It is trimmed and put into NFC before its characters are counted. U+0080 to U+009F, U+2028 and U+2029 are rejected, too. */
            name: string;
            /** Format: date-time */
            expiry_at: string;
        };
        DiscountCodeUpdate: {
            /** @description It is trimmed and put into NFC before its characters are counted. U+0080 to U+009F, U+2028 and U+2029 are rejected, too. */
            name?: string;
            /** Format: date-time */
            expiry_at?: string;
            /** @description The id of the code. */
            id: string;
            /** @description Its entity tag, as the caller has read it. */
            if_match: string;
        };
        DiscountRequest: {
            code: string;
        };
        Error: {
            error: components["schemas"]["ErrorBody"];
        };
        ErrorBody: {
            /** @description Known values: AUTH.invalid_credentials, AUTH.token.expired, AUTHZ.csrf.origin, AUTHZ.csrf.token, AUTHZ.field.denied, AUTHZ.filter.denied, AUTHZ.request.denied, AUTHZ.role.denied, AUTHZ.scope.tenant, AUTHZ.scope.token, CODE.invalid, CONFLICT.code.exists, CONFLICT.code.not_combinable, CONFLICT.code.transition, CONFLICT.etag.mismatch, CONFLICT.idempotency.in_progress, CONFLICT.idempotency.payload_mismatch, CONFLICT.not_deleted, CONFLICT.soft_deleted, DEPENDENCY.bad_gateway, DEPENDENCY.timeout, DEPENDENCY.unavailable, GONE.code, GONE.order, GONE.version, INTERNAL.unexpected, NOT_FOUND.cart, NOT_FOUND.charge, NOT_FOUND.code, NOT_FOUND.operation, NOT_FOUND.order, NOT_FOUND.refund, NOT_FOUND.route, POLICY.account.locked, POLICY.code.currency, POLICY.code.expired, POLICY.code.inactive, POLICY.export.row_limit, POLICY.legal_hold, POLICY.mfa.required, POLICY.password.change_required, POLICY.refund.declined, POLICY.refund.exceeds_charge, POLICY.refund.no_account, POLICY.refund.repeated, PROVIDER.duplicate, RATE_LIMIT.exceeded, TRANSIENT.error, VALIDATION.accept.unsupported, VALIDATION.body.encoding, VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.too_large, VALIDATION.code.charset, VALIDATION.code.length.exceeds, VALIDATION.content_type.unsupported, VALIDATION.csv.columns, VALIDATION.csv.header, VALIDATION.csv.malformed, VALIDATION.csv.row_too_long, VALIDATION.csv.too_many_rows, VALIDATION.cursor.invalid, VALIDATION.date.range, VALIDATION.datetime.timezone_required, VALIDATION.email, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.required, VALIDATION.field.type, VALIDATION.field.unknown, VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.header.invalid, VALIDATION.idempotency_key.charset, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.required, VALIDATION.if_match.required, VALIDATION.method.not_allowed, VALIDATION.name.charset, VALIDATION.name.length.exceeds, VALIDATION.page_size.invalid, VALIDATION.page_size.max, VALIDATION.page_size.min, VALIDATION.reason.required, VALIDATION.request.invalid, VALIDATION.sort.field, VALIDATION.url.private_range. Later versions may add others. */
            code: string;
            /** @description The key of a translation: error. and the code in lower case. */
            message_id: string;
            /** @description The status of the response. */
            http: number;
            /** @description True if the same request, with the same Idempotency-Key, may succeed later. */
            retryable: boolean;
            /** @description Quote it when you ask for help. */
            correlation_id: string;
            /**
             * Format: uri
             * @description The row of the code on the page of errors, if the deployment has one.
             */
            docs?: string;
            details: components["schemas"]["ErrorDetails"];
        };
        ErrorDetails: {
            /** @description The problem with each rejected field or parameter, by its name. */
            fields?: {
                [key: string]: components["schemas"]["FieldProblem"];
            };
            /** @description RATE_LIMIT.exceeded, except on anonymous operations: what is limited, such as requests, failures or operations_in_progress. CONFLICT.code.not_combinable: gift_card or max_codes. */
            reason?: string;
            /** @description RATE_LIMIT.exceeded: whose requests count: principal, source or tenant. */
            per?: string;
            /** @description The limit that was reached. */
            max?: number;
            /** @description RATE_LIMIT.exceeded: the time in which no more than max are accepted. */
            window_seconds?: number;
            /** @description AUTHZ.role.denied: the roles that may use the operation. */
            required_roles?: string[];
            /** @description AUTHZ.scope.token: the scopes that the operation needs. */
            required_scopes?: string[];
            /** @description The claim of the token that is missing or not valid, as the names of the objects that it is in and its own. */
            claim?: string[];
            /** @description With the claim nonce: the header in which the request must repeat it. */
            header?: string;
            /** @description AUTH.invalid_credentials: the cookie of a session, if the request has no credential. */
            missing_cookie?: string;
            /** @description Responses with WWW-Authenticate: the same text (RFC 9110 11.6.1). API Gateway renames that header. */
            www_authenticate?: string;
            /** @description The media types that the operation supports (415), or the methods of the path (405). */
            supported?: string[];
            /** @description CONFLICT.code.exists: whether the code that has this text is deleted. */
            soft_deleted?: boolean;
            /**
             * Format: date-time
             * @description CONFLICT.idempotency.payload_mismatch: when the key was used with the other payload.
             */
            first_used_at?: string;
            /** @description CONFLICT.etag.mismatch: the current entity tag. */
            etag?: string;
            /** @description VALIDATION.body.json: the number of characters before the error. */
            position?: number;
            /** @description The refund that the payment provider rejected. A later outcome can be read by its id. */
            refund_id?: string;
            /** @description POLICY.refund.exceeds_charge: what is left of the charge in minor units, if the provider returns it. */
            remaining?: number;
        };
        /** @description The error code of one field, what would be valid, and what was sent. */
        FieldProblem: {
            code: string;
            reason: string;
            min?: number;
            max?: number;
            /** @description The pattern of a valid value. */
            regex?: string;
            /** @description The valid values, or the roles that may send the field. */
            allowed?: string[];
            /** @description True if only an integer is valid. */
            integer?: boolean;
            /** @description The JSON type of a valid value. */
            type?: string;
            /**
             * Format: date-time
             * @description The earliest valid time.
             */
            not_before?: string;
            /**
             * Format: date-time
             * @description The latest valid time.
             */
            not_after?: string;
            /** @description What was sent. The JSON type, where the type is wrong or the field may not be sent; else a number or time itself, or the length of any other text or of a list; absent without any. It never quotes another text. */
            actual?: unknown;
        };
        Health: {
            /** @description Known values: pass. Later versions may add others. */
            status: string;
        };
        ImportRequest: {
            /** Format: uri */
            file_url: string;
        };
        ImportResult: {
            /** @description Known values: SUCCESS, PARTIAL, FAILED. Later versions may add others. */
            outcome: string;
            counts: components["schemas"]["RowCounts"];
            rejects: components["schemas"]["RejectedRow"][];
            /**
             * Format: uri
             * @description A link to a CSV file of all rejected rows, valid for 300 seconds.
             */
            rejects_url?: string;
            schema_version: number;
        };
        NoFields: Record<string, never>;
        Operation: {
            operation_id: string;
            /** @description Known values: pending, running, succeeded, failed, canceled. Later versions may add others. */
            state: string;
            progress: number;
            result?: components["schemas"]["ImportResult"];
            error?: components["schemas"]["OperationError"];
        };
        OperationError: {
            code: string;
            message_id: string;
            http: number;
            retryable: boolean;
            correlation_id: string;
            details: {
                [key: string]: unknown;
            };
        };
        OperationStatus: {
            operation_id: string;
            /** @description Known values: pending, running, succeeded, failed, canceled. Later versions may add others. */
            state: string;
            progress: number;
        };
        Order: {
            id: string;
            tenant_id: string;
            cart_id: string;
            amount_minor: number;
            /** @description A code of ISO 4217. */
            currency: string;
            /** @description Known values: active, paid, cancelled. Later versions may add others. */
            status: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        OrderList: {
            data: components["schemas"]["Order"][];
            page_size: number;
            next_cursor: string | null;
            prev_cursor: string | null;
            count: number | null;
            /** @description Known values: exact, approximate. Later versions may add others. */
            count_strategy?: string;
            sort: string;
        };
        OrderRequest: {
            cart_id: string;
            amount_minor: number;
            /** @description A code of ISO 4217. */
            currency: string;
        };
        OtpRequest: {
            /** Format: email */
            email: string;
        };
        OtpStatus: {
            message_id: string;
        };
        OtpVerification: {
            /** Format: email */
            email: string;
            code: string;
        };
        PasswordReset: {
            /** Format: email */
            email: string;
        };
        PasswordResetStatus: {
            message_id: string;
        };
        Refund: {
            id: string;
            charge_id: string;
            /** @description In the unit of the charge at the payment provider, Stripe: minor units of its currency. Stripe differs from ISO 4217: 500 is 5 ISK or 5 UGX, whose amounts end in 00, and 500 MGA. Amounts of currencies with three decimals, such as KWD, end in 0. */
            amount: number;
            /** @description Known values: pending, succeeded, failed, reversed. Later versions may add others. */
            status: string;
            /** Format: date-time */
            created_at: string;
            /** @description A code of ISO 4217. */
            currency?: string;
        };
        RefundRequest: {
            charge_id: string;
            /** @description In the unit of the charge at the payment provider, Stripe: minor units of its currency. Stripe differs from ISO 4217: 500 is 5 ISK or 5 UGX, whose amounts end in 00, and 500 MGA. Amounts of currencies with three decimals, such as KWD, end in 0. */
            amount: number;
        };
        RejectedRow: {
            row: number;
            code: string;
            field: string | null;
        };
        RowCounts: {
            total: number;
            succeeded: number;
            failed: number;
        };
        RowError: {
            code: string;
            message_id: string;
            http: number;
            retryable: boolean;
            details: {
                [key: string]: unknown;
            };
        };
        RowResult: {
            row: number;
            id: string | null;
            status: number;
            /** @description The entity tag of an updated code, which if_match takes next. */
            etag?: string;
            error?: components["schemas"]["RowError"];
        };
        Session: {
            session_id: string;
        };
        Share: {
            grantee_tenant: string;
        };
        StripeEvent: {
            id: string;
            type: string;
            created: number;
            livemode: boolean;
            account?: string;
            data: components["schemas"]["StripeEventData"];
        } & {
            [key: string]: unknown;
        };
        StripeEventData: {
            object: components["schemas"]["StripeObject"];
        } & {
            [key: string]: unknown;
        };
        StripeObject: {
            [key: string]: unknown;
        };
        Tokens: {
            access_token: string;
            token_type: string;
            expires_in: number;
            refresh_token: string;
        };
        WebhookEvent: {
            event_id: string;
            type: string;
            /**
             * Format: date-time
             * @description UTC, ending in Z.
             */
            occurred_at: string;
            data: components["schemas"]["WebhookEventData"];
            source?: string;
            source_service?: string;
            /** @description The text v1 is read as 1, and so on. */
            version?: number;
            correlation_id?: string;
            traceparent?: string;
            tracestate?: string;
            baggage?: string;
        };
        /** @description An event without tenant_id belongs to the tenant public. */
        WebhookEventData: {
            id: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: {
        /** @description The known version is current. */
        NotModified: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description Location is a link to the file. It is valid for 300 seconds. */
        SeeOther: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                /** @description A link to the file at the file store, on another host. It needs no credentials. */
                Location?: string;
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description Bad Request */
        BadRequest: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Payload Too Large */
        PayloadTooLarge: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Unsupported Media Type */
        UnsupportedMediaType: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Accept-Post": components["headers"]["AcceptPost"];
                "Accept-Patch": components["headers"]["AcceptPatch"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not Acceptable */
        NotAcceptable: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Precondition Required */
        PreconditionRequired: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Unauthorized */
        Unauthorized: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "WWW-Authenticate": components["headers"]["Challenge"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Forbidden */
        Forbidden: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "WWW-Authenticate": components["headers"]["Challenge"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not Found */
        NotFound: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Conflict */
        Conflict: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Precondition Failed */
        PreconditionFailed: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Gone */
        Gone: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too Many Requests */
        TooManyRequests: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Bad Gateway */
        BadGateway: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Service Unavailable */
        ServiceUnavailable: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Gateway Timeout */
        GatewayTimeout: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Internal Server Error */
        InternalServerError: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The id of the item. */
        Id: string;
        /** @description The id of the operation. */
        OperationId: string;
        /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
        Tenant: string;
        /** @description The number of items in a page. A larger value counts as the maximum, and one above 10000 is rejected. */
        PageSize: number;
        /** @description An opaque value from an earlier response. A request reads at most 1000 items, so a page may be short. */
        Cursor: string;
        /** @description Includes soft-deleted items. For the roles Admin, Service. */
        IncludeDeleted: boolean;
        /** @description Returns soft-deleted items only. For the roles Admin, Service. Rejected if include_deleted is sent and differs. */
        Deleted: boolean;
        IdempotencyKey: string;
        OptionalIdempotencyKey: string;
        Nonce: string;
        IfNoneMatch: string;
        IfMatch: string;
        OptionalIfMatch: string;
        CorrelationId: string;
        RequestTimeout: number;
        Traceparent: string;
        Tracestate: string;
        Baggage: string;
    };
    requestBodies: never;
    headers: {
        /** @description Identifies the log lines, audit records and events of the request. */
        CorrelationId: string;
        /** @description stored for the first request with a key, replayed for the others. */
        IdempotencyStatus: string;
        /** @description An entity tag. It is weak on lists, and on an operation with a link, whose signature differs each time. */
        ETag: string;
        /** @description The accepted media types of a POST. */
        AcceptPost: string;
        /** @description The accepted media types of a PATCH. For a PUT, they are in Accept. */
        AcceptPatch: string;
        /** @description The name of the file. */
        ContentDisposition: string;
        /** @description Two cookies: the session, and its CSRF token, which scripts can read. */
        SetCookie: string;
        /** @description The path of the created resource on the same host. Resolve it against the URL of the request; do not append it to the base URL. */
        Location: string;
        /** @description Seconds to wait before the next request. */
        RetryAfter: number;
        /** @description How to authenticate (RFC 6750). details.www_authenticate repeats it. On AWS, API Gateway sends it as x-amzn-Remapped-WWW-Authenticate. */
        Challenge: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listOrders: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description The order. created_at is the time in the id, so both sort alike. */
                sort?: "created_at.desc" | "created_at.asc" | "id.desc" | "id.asc" | "created_at.desc,id.desc" | "created_at.asc,id.asc";
                /** @description The number of items in a page. A larger value counts as the maximum, and one above 10000 is rejected. */
                page_size?: components["parameters"]["PageSize"];
                /** @description An opaque value from an earlier response. A request reads at most 1000 items, so a page may be short. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Searches cart_id, id for this text in any case, by Unicode case folding. */
                q?: string;
                /** @description Includes soft-deleted items. For the roles Admin, Service. */
                include_deleted?: components["parameters"]["IncludeDeleted"];
                /** @description Returns soft-deleted items only. For the roles Admin, Service. Rejected if include_deleted is sent and differs. */
                deleted?: components["parameters"]["Deleted"];
                /** @description id equals this value. */
                id?: string;
                /** @description id is one of these values, separated by commas. */
                "id.in"?: string[];
                /** @description cart_id equals this value. */
                cart_id?: string;
                /** @description cart_id is one of these values, separated by commas. */
                "cart_id.in"?: string[];
                /** @description currency equals this value. */
                currency?: "AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
                /** @description currency is one of these values, separated by commas. */
                "currency.in"?: ("AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG")[];
                /** @description status equals this value. */
                status?: "active" | "paid" | "cancelled";
                /** @description status is one of these values, separated by commas. */
                "status.in"?: ("active" | "paid" | "cancelled")[];
                /** @description amount_minor equals this value. */
                amount_minor?: number;
                /** @description amount_minor is one of these values, separated by commas. */
                "amount_minor.in"?: number[];
                /** @description amount_minor is at or above this value. */
                "amount_minor.gte"?: number;
                /** @description amount_minor is above this value. */
                "amount_minor.gt"?: number;
                /** @description amount_minor is at or below this value. */
                "amount_minor.lte"?: number;
                /** @description amount_minor is below this value. */
                "amount_minor.lt"?: number;
                /** @description created_at equals this value. */
                created_at?: string;
                /** @description created_at is one of these values, separated by commas. */
                "created_at.in"?: string[];
                /** @description created_at is at or above this value. */
                "created_at.gte"?: string;
                /** @description created_at is above this value. */
                "created_at.gt"?: string;
                /** @description created_at is at or below this value. */
                "created_at.lte"?: string;
                /** @description created_at is below this value. */
                "created_at.lt"?: string;
                /** @description updated_at equals this value. */
                updated_at?: string;
                /** @description updated_at is one of these values, separated by commas. */
                "updated_at.in"?: string[];
                /** @description updated_at is at or above this value. */
                "updated_at.gte"?: string;
                /** @description updated_at is above this value. */
                "updated_at.gt"?: string;
                /** @description updated_at is at or below this value. */
                "updated_at.lte"?: string;
                /** @description updated_at is below this value. */
                "updated_at.lt"?: string;
            };
            header?: {
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderList"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createOrder: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OrderRequest"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readOrder: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            410: components["responses"]["Gone"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createRefund: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefundRequest"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readRefund: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refund"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header: {
                "webhook-id": string;
                "webhook-timestamp": string;
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookEvent"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    receiveStripeEvent: {
        parameters: {
            query?: never;
            header?: {
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StripeEvent"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description The order. created_at is the time in the id, so both sort alike. code sorts by its characters, then by id. */
                sort?: "created_at.desc" | "created_at.asc" | "id.desc" | "id.asc" | "created_at.desc,id.desc" | "created_at.asc,id.asc" | "code.desc" | "code.asc" | "code.desc,id.desc" | "code.asc,id.asc";
                /** @description The number of items in a page. A larger value counts as the maximum, and one above 10000 is rejected. */
                page_size?: components["parameters"]["PageSize"];
                /** @description An opaque value from an earlier response. A request reads at most 1000 items, so a page may be short. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Searches code, name for this text in any case, by Unicode case folding. */
                q?: string;
                /** @description Includes soft-deleted items. For the roles Admin, Service. */
                include_deleted?: components["parameters"]["IncludeDeleted"];
                /** @description Returns soft-deleted items only. For the roles Admin, Service. Rejected if include_deleted is sent and differs. */
                deleted?: components["parameters"]["Deleted"];
                /** @description Legacy paging. Another name of page_size; rejected together with it. */
                limit?: number;
                /** @description Legacy paging. The number of items to skip; rejected with cursor. */
                offset?: number;
                /** @description id equals this value. */
                id?: string;
                /** @description id is one of these values, separated by commas. */
                "id.in"?: string[];
                /** @description code equals this value. */
                code?: string;
                /** @description code is one of these values, separated by commas. */
                "code.in"?: string[];
                /** @description type equals this value. */
                type?: "percent-10" | "percent-25" | "fixed-500";
                /** @description type is one of these values, separated by commas. */
                "type.in"?: ("percent-10" | "percent-25" | "fixed-500")[];
                /** @description name equals this value. */
                name?: string;
                /** @description name is one of these values, separated by commas. */
                "name.in"?: string[];
                /** @description state equals this value. */
                state?: "draft" | "active" | "archived" | "soft_deleted";
                /** @description state is one of these values, separated by commas. */
                "state.in"?: ("draft" | "active" | "archived" | "soft_deleted")[];
                /** @description created_by equals this value. */
                created_by?: string;
                /** @description created_by is one of these values, separated by commas. */
                "created_by.in"?: string[];
                /** @description Another name of tenant. */
                tenant_id?: string;
                /** @description soft_deleted equals this value. */
                soft_deleted?: boolean;
                /** @description expiry_at equals this value. */
                expiry_at?: string;
                /** @description expiry_at is one of these values, separated by commas. */
                "expiry_at.in"?: string[];
                /** @description expiry_at is at or above this value. */
                "expiry_at.gte"?: string;
                /** @description expiry_at is above this value. */
                "expiry_at.gt"?: string;
                /** @description expiry_at is at or below this value. */
                "expiry_at.lte"?: string;
                /** @description expiry_at is below this value. */
                "expiry_at.lt"?: string;
                /** @description created_at equals this value. */
                created_at?: string;
                /** @description created_at is one of these values, separated by commas. */
                "created_at.in"?: string[];
                /** @description created_at is at or above this value. */
                "created_at.gte"?: string;
                /** @description created_at is above this value. */
                "created_at.gt"?: string;
                /** @description created_at is at or below this value. */
                "created_at.lte"?: string;
                /** @description created_at is below this value. */
                "created_at.lt"?: string;
                /** @description updated_at equals this value. */
                updated_at?: string;
                /** @description updated_at is one of these values, separated by commas. */
                "updated_at.in"?: string[];
                /** @description updated_at is at or above this value. */
                "updated_at.gte"?: string;
                /** @description updated_at is above this value. */
                "updated_at.gt"?: string;
                /** @description updated_at is at or below this value. */
                "updated_at.lte"?: string;
                /** @description updated_at is below this value. */
                "updated_at.lt"?: string;
            };
            header?: {
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCodeList"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscountCodeRequest"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    replaceCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "If-Match": components["parameters"]["IfMatch"];
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscountCodeReplacement"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            428: components["responses"]["PreconditionRequired"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    deleteCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description true deletes the code permanently; false, or nothing, soft-deletes it. */
                force?: boolean;
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
                "X-Audit-Log-Reason"?: string;
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    updateCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "If-Match": components["parameters"]["IfMatch"];
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscountCodeChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            428: components["responses"]["PreconditionRequired"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    restoreCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NoFields"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    shareCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the item. */
                id: components["parameters"]["Id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    exportCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description Includes soft-deleted codes. Not every role may do this. */
                include_deleted?: boolean;
            };
            header?: {
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Content-Disposition": components["headers"]["ContentDisposition"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            303: components["responses"]["SeeOther"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    importCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description Success. */
            207: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    bulkUpdateCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkUpdate"];
            };
        };
        responses: {
            /** @description Success. */
            207: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    verifyDiscount: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                "X-Cart-Id"?: string;
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscountRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Discount"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    requestOtp: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OtpRequest"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OtpStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    verifyOtp: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OtpVerification"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Set-Cookie": components["headers"]["SetCookie"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: {
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Credentials"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordReset"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordResetStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createImport: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "application/json": components["schemas"]["ImportRequest"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readOperation: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the operation. */
                operation_id: components["parameters"]["OperationId"];
            };
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    cancelOperation: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                "If-Match"?: components["parameters"]["OptionalIfMatch"];
                "Idempotency-Key"?: components["parameters"]["OptionalIdempotencyKey"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                /** @description The id of the operation. */
                operation_id: components["parameters"]["OperationId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NoFields"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            406: components["responses"]["NotAcceptable"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readHealth: {
        parameters: {
            query?: never;
            header?: {
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                traceparent?: components["parameters"]["Traceparent"];
                tracestate?: components["parameters"]["Tracestate"];
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/health+json": components["schemas"]["Health"];
                };
            };
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            502: components["responses"]["BadGateway"];
            503: components["responses"]["ServiceUnavailable"];
            504: components["responses"]["GatewayTimeout"];
        };
    };
}
export type BulkResult = components['schemas']['BulkResult']
export type BulkUpdate = components['schemas']['BulkUpdate']
export type Credentials = components['schemas']['Credentials']
export type Discount = components['schemas']['Discount']
export type DiscountCode = components['schemas']['DiscountCode']
export type DiscountCodeChanges = components['schemas']['DiscountCodeChanges']
export type DiscountCodeList = components['schemas']['DiscountCodeList']
export type DiscountCodeReplacement = components['schemas']['DiscountCodeReplacement']
export type DiscountCodeRequest = components['schemas']['DiscountCodeRequest']
export type DiscountCodeUpdate = components['schemas']['DiscountCodeUpdate']
export type DiscountRequest = components['schemas']['DiscountRequest']
export type ErrorBody = components['schemas']['ErrorBody']
export type ErrorDetails = components['schemas']['ErrorDetails']
export type FieldProblem = components['schemas']['FieldProblem']
export type Health = components['schemas']['Health']
export type ImportRequest = components['schemas']['ImportRequest']
export type ImportResult = components['schemas']['ImportResult']
export type NoFields = components['schemas']['NoFields']
export type Operation = components['schemas']['Operation']
export type OperationError = components['schemas']['OperationError']
export type OperationStatus = components['schemas']['OperationStatus']
export type Order = components['schemas']['Order']
export type OrderList = components['schemas']['OrderList']
export type OrderRequest = components['schemas']['OrderRequest']
export type OtpRequest = components['schemas']['OtpRequest']
export type OtpStatus = components['schemas']['OtpStatus']
export type OtpVerification = components['schemas']['OtpVerification']
export type PasswordReset = components['schemas']['PasswordReset']
export type PasswordResetStatus = components['schemas']['PasswordResetStatus']
export type Refund = components['schemas']['Refund']
export type RefundRequest = components['schemas']['RefundRequest']
export type RejectedRow = components['schemas']['RejectedRow']
export type RowCounts = components['schemas']['RowCounts']
export type RowError = components['schemas']['RowError']
export type RowResult = components['schemas']['RowResult']
export type Session = components['schemas']['Session']
export type Share = components['schemas']['Share']
export type StripeEvent = components['schemas']['StripeEvent']
export type StripeEventData = components['schemas']['StripeEventData']
export type StripeObject = components['schemas']['StripeObject']
export type Tokens = components['schemas']['Tokens']
export type WebhookEvent = components['schemas']['WebhookEvent']
export type WebhookEventData = components['schemas']['WebhookEventData']
export type KnownErrorCode = 'AUTH.invalid_credentials' | 'AUTH.token.expired' | 'AUTHZ.csrf.origin' | 'AUTHZ.csrf.token' | 'AUTHZ.field.denied' | 'AUTHZ.filter.denied' | 'AUTHZ.request.denied' | 'AUTHZ.role.denied' | 'AUTHZ.scope.tenant' | 'AUTHZ.scope.token' | 'CODE.invalid' | 'CONFLICT.code.exists' | 'CONFLICT.code.not_combinable' | 'CONFLICT.code.transition' | 'CONFLICT.etag.mismatch' | 'CONFLICT.idempotency.in_progress' | 'CONFLICT.idempotency.payload_mismatch' | 'CONFLICT.not_deleted' | 'CONFLICT.soft_deleted' | 'DEPENDENCY.bad_gateway' | 'DEPENDENCY.timeout' | 'DEPENDENCY.unavailable' | 'GONE.code' | 'GONE.order' | 'GONE.version' | 'INTERNAL.unexpected' | 'NOT_FOUND.cart' | 'NOT_FOUND.charge' | 'NOT_FOUND.code' | 'NOT_FOUND.operation' | 'NOT_FOUND.order' | 'NOT_FOUND.refund' | 'NOT_FOUND.route' | 'POLICY.account.locked' | 'POLICY.code.currency' | 'POLICY.code.expired' | 'POLICY.code.inactive' | 'POLICY.export.row_limit' | 'POLICY.legal_hold' | 'POLICY.mfa.required' | 'POLICY.password.change_required' | 'POLICY.refund.declined' | 'POLICY.refund.exceeds_charge' | 'POLICY.refund.no_account' | 'POLICY.refund.repeated' | 'PROVIDER.duplicate' | 'RATE_LIMIT.exceeded' | 'TRANSIENT.error' | 'VALIDATION.accept.unsupported' | 'VALIDATION.body.encoding' | 'VALIDATION.body.invalid' | 'VALIDATION.body.json' | 'VALIDATION.body.too_deep' | 'VALIDATION.body.too_large' | 'VALIDATION.code.charset' | 'VALIDATION.code.length.exceeds' | 'VALIDATION.content_type.unsupported' | 'VALIDATION.csv.columns' | 'VALIDATION.csv.header' | 'VALIDATION.csv.malformed' | 'VALIDATION.csv.row_too_long' | 'VALIDATION.csv.too_many_rows' | 'VALIDATION.cursor.invalid' | 'VALIDATION.date.range' | 'VALIDATION.datetime.timezone_required' | 'VALIDATION.email' | 'VALIDATION.field.enum' | 'VALIDATION.field.format' | 'VALIDATION.field.length' | 'VALIDATION.field.range' | 'VALIDATION.field.required' | 'VALIDATION.field.type' | 'VALIDATION.field.unknown' | 'VALIDATION.filter.unknown_key' | 'VALIDATION.filter.value_invalid' | 'VALIDATION.header.invalid' | 'VALIDATION.idempotency_key.charset' | 'VALIDATION.idempotency_key.length' | 'VALIDATION.idempotency_key.required' | 'VALIDATION.if_match.required' | 'VALIDATION.method.not_allowed' | 'VALIDATION.name.charset' | 'VALIDATION.name.length.exceeds' | 'VALIDATION.page_size.invalid' | 'VALIDATION.page_size.max' | 'VALIDATION.page_size.min' | 'VALIDATION.reason.required' | 'VALIDATION.request.invalid' | 'VALIDATION.sort.field' | 'VALIDATION.url.private_range'
