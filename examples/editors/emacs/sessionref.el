;;; sessionref.el --- `@' completion of agent sessions in prompts, through Eglot  -*- lexical-binding: t -*-

;; Needs Emacs 28 with Eglot 1.9 or newer (Emacs 29 has Eglot built in).
;;
;;   (load "/path/to/sessionref.el")
;;   (add-hook 'markdown-mode-hook #'sessionref-ensure)
;;
;; Then type @ and some words of a session's title, and press C-M-i (`completion-at-point'), or let
;; company or corfu pop up by themselves.  `sessionref-expand' appends the snapshots below the
;; message.  Errors show as Flymake diagnostics in the buffer; M-x eglot-events-buffer has the rest.

;;; Code:

(require 'eglot)

(defcustom sessionref-command '("sessionref" "--stdio")
  "How to start the language server."
  :type '(repeat string)
  :group 'eglot)

(defun sessionref--contact (&rest _) "The command." sessionref-command)

(add-to-list 'eglot-server-programs
             '((markdown-mode gfm-mode text-mode) . sessionref--contact))

(defun sessionref-ensure ()
  "Complete sessions behind an @ in this buffer."
  (add-hook 'eglot-managed-mode-hook #'sessionref--managed)
  (eglot-ensure))

(defun sessionref--managed ()
  "Ask for sessions before asking for anything else."
  (if (and (eglot-managed-p) (sessionref--server))
      (add-hook 'completion-at-point-functions #'sessionref-completion-at-point -10 t)
    (remove-hook 'completion-at-point-functions #'sessionref-completion-at-point t)))

(defun sessionref--server ()
  "The server of this buffer, if it is sessionref."
  (when-let ((server (eglot-current-server)))
    (and (eglot--server-capable :experimental :sessionReference) server)))

(defun sessionref-completion-at-point ()
  "Sessions for the @ before point.
Eglot's own function completes symbols; what is typed behind an @ may hold spaces."
  (when-let* ((server (and (save-excursion
                             (search-backward "@" (line-beginning-position) t))
                           (sessionref--server)))
              (answer (progn
                        (eglot--signal-textDocument/didChange)
                        (jsonrpc-request server :textDocument/completion
                                         (eglot--CompletionParams))))
              (items (append (plist-get answer :items) nil)))
    (pcase-let* ((edit (plist-get (car items) :textEdit))
                 (`(,start . ,end) (eglot--range-region (plist-get edit :range)))
                 (named (mapcar (lambda (item) (cons (plist-get item :label) item)) items)))
      (list start end
            (lambda (probe predicate action)
              (pcase action
                ('metadata '(metadata (category . sessionref)
                                      (display-sort-function . identity)
                                      (cycle-sort-function . identity)))
                ('t (all-completions "" named predicate))
                ('lambda (and (assoc probe named) t))
                ('nil (cond ((assoc probe named) t)
                            ((cdr named) probe)
                            (t (caar named))))))
            :exclusive 'yes
            :annotation-function
            (lambda (label)
              (let ((details (plist-get (cdr (assoc label named)) :labelDetails)))
                (concat " " (plist-get details :description) (plist-get details :detail))))
            :exit-function
            (lambda (label _status)
              (when-let ((item (cdr (assoc label named))))
                (delete-region (- (point) (length label)) (point))
                (insert (plist-get (plist-get item :textEdit) :newText))))))))

(defun sessionref-expand ()
  "Append the snapshots of the sessions that this buffer refers to."
  (interactive)
  (let ((eglot-confirm-server-initiated-edits nil)) ; it was asked for
    (eglot-execute-command (eglot--current-server-or-lose) 'sessionref.expand
                           (vector (plist-get (eglot--TextDocumentIdentifier) :uri)))))

(provide 'sessionref)
;;; sessionref.el ends here
