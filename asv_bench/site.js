/* site.js -- gives asv's pages the published files from data.js instead of asking a server, so that they open from a disk. */
$.ajaxTransport("+*", function (options) {
    var path = decodeURIComponent(options.url.replace(/[?#].*$/, "")).replace(/^\.\//, "");
    var data = window.asv_published || {};
    if (!Object.prototype.hasOwnProperty.call(data, path)) return undefined;
    return {
        send: function (headers, complete) {
            setTimeout(function () { /* as late as a server's answer */
                complete(200, "OK", { text: data[path] }, "");
            }, 0);
        },
        abort: function () {}
    };
});
